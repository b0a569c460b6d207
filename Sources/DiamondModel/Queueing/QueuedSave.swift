public import Diamond

/// A save or deletion that waited in the queue, and its outcome.
public struct QueuedSave {
    /// The call that was made.
    public let call: ModelCall
    /// The object: the live instance; of a new object that is not live, one made of what was sent. `nil` for another object
    /// that is not live.
    public let model: Model?
    /// The id that the object had on this device when the call was queued; `nil` for one that had the server's already.
    public let localID: ModelID?
    /// The server's id; `nil` where it has given none.
    public let serverID: ModelID?
    /// The job of the queue that has made the call.
    public let jobID: ReplayJob.ID
    /// Why the server has not taken the call; `nil` where it has. The object keeps its changes then, and they are sent by
    /// its next save.
    public let failure: (any Error)?
}

/// The object of a queued call, as it stands in the metadata of the call's job.
struct QueuedSubject {
    /// The name of the object's class (``Model/queueName``).
    let type: String
    var localID: ModelID?
    var serverID: ModelID?
    let call: ModelCall

    init(_ model: Model, _ call: ModelCall) {
        type = Swift.type(of: model).queueName
        localID = model.isNew || model.tracking.localID != nil ? model.localID : nil
        serverID = model.serverID
        self.call = call
    }

    /// - Returns: `nil` for a job that is no model's.
    init?(_ job: ReplayJob) {
        guard case .string(let type)? = job.metadata["model"],
            case .string(let name)? = job.metadata["call"], let call = ModelCall(name: name)
        else { return nil }
        self.type = type
        if case .string(let text)? = job.metadata["localID"] { localID = ModelID(local: text) }
        serverID = job.metadata["id"].flatMap(ModelID.init(json:))
        // What was merged into the call that makes the object has become a part of that.
        self.call = serverID == nil && job.method == "POST" ? .create : call
    }

    var metadata: [String: JSONValue] {
        var metadata: [String: JSONValue] = ["model": .string(type), "call": .string(call.name)]
        if let localID { metadata["localID"] = .string(localID.description) }
        if let serverID { metadata["id"] = serverID.json }
        return metadata
    }
}

extension ModelCall {
    fileprivate var name: String {
        switch self {
        case .fetch: "fetch"
        case .create: "create"
        case .update: "update"
        case .replace: "replace"
        case .destroy: "destroy"
        }
    }

    fileprivate init?(name: String) {
        guard let call = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = call
    }
}
