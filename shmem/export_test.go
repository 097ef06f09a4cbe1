package shmem

// HoldApart lets no operation become one with another.
func (m *Model) HoldApart() { m.apart = true }
