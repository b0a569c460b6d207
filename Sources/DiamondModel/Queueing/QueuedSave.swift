public import Diamond

/// A save or deletion that was queued, and its outcome.
public struct QueuedSave {
    /// The call that was made.
    public let call: ModelCall
    /// The object: the live instance; of a new object that is not live, one made of what was sent. `nil` for another object
    /// that is not live.
    public let model: Model?
    /// The id that a new object had on this device; `nil` for one that had the server's id when the call was queued.
    public let localID: ModelID?
    /// The server's id; `nil` where it has given none.
    public let serverID: ModelID?
    /// The object's members that were sent; `nil` for a deletion.
    public let changes: JSONValue?
    /// The job of the queue that has made the call.
    public let jobID: ReplayJob.ID
    /// Why the server has not taken the call; `nil` where it has. A live object keeps its changes then, and its next save
    /// sends them.
    public let failure: (any Error)?
}

/// The object of a queued call, as it stands in the metadata of the call's job.
struct QueuedSubject {
    /// The name of the object's class (``Model/queueName``).
    let type: String
    /// The URL of the object's list, without its query; empty where there is none.
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

    /// - Returns: `nil` for a job that is no model's.
    init?(_ job: ReplayJob) {
        guard case .string(let type)? = job.metadata["model"], case .string(let list)? = job.metadata["list"],
            case .string(let name)? = job.metadata["call"], let call = ModelCall(name: name)
        else { return nil }
        self.type = type
        self.list = list
        self.call = call
        if case .string(let text)? = job.metadata["localID"] { localID = ModelID(local: text) } else { localID = nil }
        serverID = job.metadata["id"].flatMap(ModelID.init(json:))
    }

    var metadata: [String: JSONValue] {
        var metadata: [String: JSONValue] = [
            "model": .string(type), "list": .string(list), "call": .string(call.name),
        ]
        if let localID { metadata["localID"] = .string(localID.description) }
        if let serverID { metadata["id"] = serverID.json }
        return metadata
    }

    var ids: [ModelID] { [serverID, localID].compactMap { $0 } }

    func isSame(as model: Model) -> Bool { type == Swift.type(of: model).queueName && list == model.listName }
}

extension Model {
    /// The URL of the object's list without its query, which may hold what is not to be written.
    final var listName: String { server.map { String($0.list.url.prefix { $0 != "?" && $0 != "#" }) } ?? "" }
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
