// The events around a finding.
