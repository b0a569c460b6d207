/// Whether a store records its accesses; by default it does not.
package enum AccessRecording: Hashable, Sendable {
    case off
    /// Accesses of a sample of the keys are recorded.
    case on(Sampling)
}
