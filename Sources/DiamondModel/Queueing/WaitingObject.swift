public import Diamond
import Observation

/// An object whose calls wait in the queue.
public struct WaitingObject {
    /// The name of its class in the queue (``Model/queueName``).
    public let type: String
    /// The server's id, or the local id of a new object.
    public let id: ModelID
    /// The live instance; `nil` if the object is not live.
    public let model: Model?
    /// The kind of its last call.
    public let call: ModelCall
    /// The state of its calls: `waiting`, `sending` or `needsReview`.
    public let state: SaveState
    /// The queue's jobs of its calls, in order.
    public let jobIDs: [ReplayJob.ID]
}

extension ModelContext {
    /// The objects whose calls wait in the queue for the current identity, in the order of their first calls. Can be
    /// observed.
    ///
    /// The context reads the queue at its first load, save or collection of answers, when JSON is merged into it, or
    /// when an object is registered. From its first load, save or collection on, it notices all changes by this
    /// process. It notices those by others at each load, save and collection.
    public var waiting: [WaitingObject] {
        registrar.access(self, keyPath: \.waiting)
        let groups = Dictionary(grouping: overlay.calls.all.filter(isShown)) { ExactText($0.job.orderingKey ?? "") }
        return groups.values.sorted { $0[0].job.id < $1[0].job.id }.compactMap { calls in
            guard let last = calls.last, let state = calls.state else { return nil }
            let model = overlay.classes[last.subject.type].flatMap { existing($0, for: last.subject) }
            guard let id = model?.modelID ?? last.subject.serverID ?? last.subject.localID else { return nil }
            return WaitingObject(
                type: last.subject.type, id: id, model: model, call: last.subject.call, state: state,
                jobIDs: calls.map(\.job.id))
        }
    }
}
