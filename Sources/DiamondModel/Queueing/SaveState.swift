public import Foundation
import Observation

/// The state of an object's changes (``Model/saveState``).
public enum SaveState: Sendable {
    /// The server has all changes.
    case saved
    /// The object is new or has changes, and none of its calls is in the queue.
    case unsaved
    /// Calls wait in the queue, the first since this time.
    case waiting(since: Date)
    /// A call of the queue is being sent.
    case sending
    /// The server may have processed a call or not: redrive or discard its job (``Model/queuedJobs()``).
    case needsReview
    /// The server has refused a queued call, or the call has expired. The error is that of ``QueuedSave/failure``.
    case failed(any Error)
}

extension SaveState {
    /// Returns whether this is the same state, regardless of the errors.
    func isSame(as other: SaveState?) -> Bool {
        switch (self, other) {
        case (.waiting(let one), .waiting(let other)?): one == other
        case (.saved, .saved?), (.unsaved, .unsaved?), (.sending, .sending?), (.needsReview, .needsReview?),
            (.failed, .failed?):
            true
        default: false
        }
    }
}

/// A queued call that was not accepted.
struct SaveFailure {
    let call: ModelCall
    let error: any Error
}

extension Model {
    /// The state of the object's changes, as far as its context knows it. It can be observed like a property, and when
    /// it changes, the rows of the object are updated.
    ///
    /// A failure stays until the next save of the object, or until its changes are undone. Calls that are not queued do
    /// not change the state while they are sent.
    public final var saveState: SaveState {
        registrar?.access(self, keyPath: \Model.saveState)
        if let state = context?.calls(of: self).state { return state }
        let isUnsaved = isNew || isDirty
        if let failure = tracking.syncing?.failure, isUnsaved || failure.call == .destroy {
            return .failed(failure.error)
        }
        return isUnsaved ? .unsaved : .saved
    }

    /// Whether calls of the object wait in the queue, or their answers wait to be collected.
    public final var hasQueuedSaves: Bool {
        registrar?.access(self, keyPath: \Model.hasQueuedSaves)
        return context.map { !$0.calls(of: self).isEmpty } ?? false
    }

    /// Sets the failure of the last queued call; `nil` for none.
    final func noteFailure(_ failure: SaveFailure?) {
        guard failure != nil || tracking.syncing?.failure != nil else { return }
        syncing.failure = failure
        saveStateDidChange()
    }

    /// Notifies the observers and owners of a change of ``saveState``.
    ///
    /// - Parameter togglesQueuedSaves: Whether ``hasQueuedSaves`` has changed, too.
    final func saveStateDidChange(togglesQueuedSaves: Bool = false) {
        stateDidChange(\.saveState)
        if togglesQueuedSaves { stateDidChange(\.hasQueuedSaves) }
        transact(source: .user) { tracking.hasOtherStateChange = true }
    }
}
