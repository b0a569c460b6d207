/// A point at which a process may die while it sends a job. A test can end the process there by the point's name.
package enum ReplayFaultPoint: String, Hashable, Sendable, CaseIterable {
    case afterClaim = "after-claim"
    case beforeSend = "before-send"
    case afterSend = "after-send"
    case beforeFinish = "before-finish"
    case afterFinish = "after-finish"
}
