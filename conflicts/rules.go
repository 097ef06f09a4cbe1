package conflicts

// Severity of a finding.
type Severity string

// Severities, from the gravest.
const (
	Error   Severity = "error"   // definite
	Warning Severity = "warning" // depends on the lock order, the memory model or the MPI library
	Note    Severity = "note"
)

// Rule is one kind of finding. It is the single source of what explain, the
// reports and docs/rules.md say of it.
type Rule struct {
	ID       string
	Title    string
	Severity Severity
	Text     string // what it means and why it is wrong, with the standard's section
	Wrong    string // a short program fragment
	Right    string // the same, mended
	Mend     string // how to mend it, in words
}

// Identifiers of the rules. They are stable: never reused, never renamed.
const (
	RuleRemoteRemote = "MC101" // one-sided operations of two processes meet at a target
	RuleLocalRemote  = "MC102" // a process's own access meets another's one-sided operation
	RuleBuffer       = "MC103" // a buffer of a pending one-sided operation is used before it completes
	RuleSameOrigin   = "MC104" // one-sided operations of one process meet before the first completes
	RuleAtomicType   = "MC105" // atomic operations with different basic types or a misaligned overlap
	RuleCallBuffer   = "MC106" // a buffer of a send, receive or collective call meets a one-sided operation
	RuleRequest      = "MC107" // a buffer of a pending send or receive is used before it completes
	RuleAtomicOp     = "MC201" // atomic operations with different operations (warning)
)
