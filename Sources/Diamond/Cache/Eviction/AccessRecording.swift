/// Whether a store keeps a record of its accesses. None does unless it was switched on for the store.
package enum AccessRecording: Hashable, Sendable {
    case off
    /// Accesses of a sample of the keys are recorded.
    case on(Sampling)
}
