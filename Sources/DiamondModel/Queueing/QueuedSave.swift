public import Diamond

/// A save or deletion that was queued, and its outcome.
public struct QueuedSave {
    /// The kind of the call.
    public let call: ModelCall
    /// The live instance of the object. A new object that is not live is created from the sent members. `nil` for any
    /// other object that is not live.
    public let model: Model?
    /// The local id of a new object; `nil` for an object that had the server's id when the call was queued.
    public let localID: ModelID?
    /// The server's id; `nil` if the server has not assigned one.
    public let serverID: ModelID?
    /// The members of the object that were sent; `nil` for a deletion.
    public let changes: JSONValue?
    /// The queue's job of the call.
    public let jobID: ReplayJob.ID
    /// The error of a call that was not accepted; otherwise `nil`. A live object keeps its changes, and its next save
    /// sends them.
    ///
    /// It is ``ModelError`` `needsReview` for a call whose outcome is unknown. Such a call stays in the queue until it
    /// is redriven or discarded. Then it is reported again, with its outcome.
    public let failure: (any Error)?
}

/// The object of a queued call, as stored in the metadata of the call's job.
struct QueuedSubject {
    /// The name of the object's class (``Model/queueName``).
    let type: String
    /// The URL of the object's list, without its query; empty if there is none.
    let list: String
    let localID: ModelID?
    let serverID: ModelID?
    let call: ModelCall

    init(_ model: Model, call: ModelCall) {
        type = Swift.type(of: model).queueName
        list = model.listName
        localID = model.isNew ? model.localID : nil
        serverID = model.serverID
        self.call = call
    }

    /// Reads the metadata of a job; `nil` for a job that does not belong to a model.
    init?(_ job: ReplayJob) {
        guard case .string(let type)? = job.metadata["model"], case .string(let list)? = job.metadata["list"],
            case .string(let name)? = job.metadata["call"], let call = ModelCall(rawValue: name)
        else { return nil }
        self.type = type
        self.list = list
        self.call = call
        if case .string(let text)? = job.metadata["localID"] { localID = ModelID(local: text) } else { localID = nil }
        serverID = job.metadata["id"].flatMap(ModelID.init(json:))
    }

    var metadata: [String: JSONValue] {
        var metadata: [String: JSONValue] = [
            "model": .string(type), "list": .string(list), "call": .string(call.rawValue),
        ]
        if let localID { metadata["localID"] = .string(localID.description) }
        if let serverID { metadata["id"] = serverID.json }
        return metadata
    }

    /// The ids, the local one first: another live instance may have been loaded with the server's.
    var ids: [ModelID] { [localID, serverID].compactMap { $0 } }

    func isSame(as model: Model) -> Bool {
        guard type == Swift.type(of: model).queueName else { return false }
        // The URL of a list changes when the object in it gets its id.
        if let localID, localID == model.tracking.localID { return true }
        return serverID != nil && serverID == model.serverID && list.isExactly(model.listName)
    }
}

extension Model {
    /// The URL of the object's list without its query, which may contain secrets that must not be stored.
    final var listName: String { server?.list.listName ?? "" }
}

extension Request {
    /// The URL without its query.
    var listName: String { String(url.prefix { $0 != "?" && $0 != "#" }) }
}
