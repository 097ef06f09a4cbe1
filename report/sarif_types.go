package report

// The objects of SARIF 2.1.0, sections 3.13 to 3.58, as far as SARIF writes them.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation        `json:"invocations"`
	BaseIDs     map[string]sarifArtifact `json:"originalUriBaseIds"`
	ColumnKind  string                   `json:"columnKind"`
	Results     []sarifResult            `json:"results"`
	Properties  sarifRunProperties       `json:"properties"`
}

type sarifRunProperties struct {
	Verdict string    `json:"verdict"`
	Program string    `json:"program,omitempty"`
	Library string    `json:"library,omitempty"`
	Run     string    `json:"run,omitempty"`
	Basis   jsonBasis `json:"basis"`
}

type sarifDriver struct {
	Name     string      `json:"name"`
	FullName string      `json:"fullName"`
	Version  string      `json:"version,omitempty"`
	Rules    []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Full    sarifMessage `json:"fullDescription"`
	Help    sarifHelp    `json:"help"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifHelp struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level      string       `json:"level"`
	Message    sarifMessage `json:"message"`
	Properties sarifCaveat  `json:"properties"`
}

type sarifCaveat struct {
	Kind  string `json:"kind"`
	Ranks []int  `json:"ranks"`
	Count uint64 `json:"count,omitempty"`
}

type sarifResult struct {
	RuleID        string             `json:"ruleId"`
	RuleIndex     int                `json:"ruleIndex"`
	Level         string             `json:"level"`
	Message       sarifMessage       `json:"message"`
	Locations     []sarifLocation    `json:"locations"`
	Related       []sarifLocation    `json:"relatedLocations,omitempty"`
	Stacks        []sarifStack       `json:"stacks"`
	CodeFlows     []sarifCodeFlow    `json:"codeFlows"`
	Fingerprints  map[string]string  `json:"partialFingerprints"`
	Occurrences   uint64             `json:"occurrenceCount"`
	BaselineState string             `json:"baselineState,omitempty"`
	Suppressions  []sarifSuppression `json:"suppressions,omitempty"`
	Properties    sarifProperties    `json:"properties"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification,omitempty"`
}

type sarifProperties struct {
	Class  string       `json:"class"`
	Memory jsonMemory   `json:"memory"`
	Region int          `json:"region"`
	Ranks  []int        `json:"ranks"`
	Why    string       `json:"why"`
	Sought []jsonSought `json:"sought"`
	Fixes  []jsonFix    `json:"fixes"`
	Runs   *jsonRuns    `json:"runs,omitempty"`
}

type sarifLocation struct {
	ID       int            `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI         string        `json:"uri,omitempty"`
	BaseID      string        `json:"uriBaseId,omitempty"`
	Description *sarifMessage `json:"description,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

type sarifStack struct {
	Message sarifMessage `json:"message"`
	Frames  []sarifFrame `json:"frames"`
}

type sarifFrame struct {
	Location sarifLocation `json:"location"`
	Module   string        `json:"module,omitempty"`
}

type sarifCodeFlow struct {
	Message     sarifMessage      `json:"message"`
	ThreadFlows []sarifThreadFlow `json:"threadFlows"`
}

type sarifThreadFlow struct {
	ID        string        `json:"id"`
	Message   *sarifMessage `json:"message,omitempty"`
	Locations []sarifStep   `json:"locations"`
}

type sarifStep struct {
	Location   sarifLocation `json:"location"`
	Importance string        `json:"importance"`
}
