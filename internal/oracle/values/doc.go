// Package values is the second opinion of mcchk's own tests on the models whose
// processes order themselves through memory: random programs of OpenSHMEM and GASPI,
// and their races by brute force. It is imported by tests only, and shares no code with
// the engine.
//
// A program is a list of steps of a random scheduler. Run carries them out: words hold
// values, what is issued arrives some time later, as fences, notifications and
// completing calls allow, and what processes read is what is there. That gives the
// events of a trace, and what each means by the contract (docs/detection-model.md).
// Dropping steps gives another program that could run, so that Shrink makes a failing
// one small.
//
// # How it decides
//
// Every call has two points in an explicit graph: it enters, where it issues, completes
// and signals, and it leaves, where it has learned. Happens-before is the closure of
// that graph. Of each word all orders are tried in which its updates can have taken
// effect and every read found what it did. What a read comes after in all of these, it
// comes after for certain; what in some, perhaps. Wherever the two give the same races,
// the values have decided everything: these races and no others have to be found, and
// nothing may be undecided. Otherwise what certainly is a race has to be found, or the
// verdict has to be undecided, and nothing may be found that certainly is none.
//
// # Choices
//
//  1. Updates of one process on one word take effect in the order of their issue, and what
//     it fetches by an operation comes after those it has issued; but not what it finds in
//     its own memory without one; nor signals that add, where no fence or quiet of their
//     context is between. Of notifications that holds for those of one queue that
//     are posted without data.
//  2. A wait or a test for a condition comes after the value that was there when it was
//     called, and where that does not meet the condition, after the first value behind
//     it that does. Of a call whose trace does not tell what was there, another strand
//     may have taken that away before.
//  3. A store of the owner, and a put of several elements, leave a value that is not
//     known.
//  4. What a fence has put before an operation is complete where that is seen, and
//     orders the two at their target, but for non-blocking gets and fetches behind it.
//  5. Two notifications of one identifier that nothing orders need not be told apart, nor
//     two messages that threads of a process send, or receive, beside each other; nor what a
//     word holds where its owner stores to it beside operations of others.
package values
