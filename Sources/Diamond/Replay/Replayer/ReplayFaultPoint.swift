/// A point at which a process may die in the middle of a job. Each is named, so that a test can end the process there.
package enum ReplayFaultPoint: String, Hashable, Sendable, CaseIterable {
    case afterClaim = "after-claim"
    case beforeSend = "before-send"
    case afterSend = "after-send"
    case beforeFinish = "before-finish"
    case afterFinish = "after-finish"
}
