public import Diamond
public import Foundation

/// An identity map: one live instance for each class and id.
///
/// A context and its models belong to one isolation domain, the main actor's or an actor's. A context keeps no model
/// alive, and no model keeps its context: keep it as long as the program needs its models to be the live ones. Plain
/// decoding makes copies outside of it.
public final class ModelContext {
    /// A new id of a model.
    public struct IDChange {
        public let model: Model
        public let old: ModelID
        public let new: ModelID
    }

    // A model takes itself out before it ends.
    private var models: [ModelKey: Unmanaged<Model>] = [:]
    private let observers = Observers<IDChange>()

    /// The engine that loads and saves the models; `nil` for models that stay in memory.
    public let engine: Engine?
    /// The clock that ages are taken from.
    let now: () -> Date
    /// The order of loads and saves.
    let order = SyncOrder()
    /// The time of the answer that is being taken in; `nil` outside of that.
    private(set) var answerTime: Int?

    /// Called with saves that the queue has answered, after their objects have taken the answers in and before the queue
    /// forgets them. A program that has its own record of its objects writes that here, and throws where it cannot: the
    /// answers stay in the queue then.
    public var recordSaves: (([QueuedSave]) throws -> Void)?
    /// The lock for collecting responses.
    let collecting = AsyncLock()
    /// The calls in the queue whose answers were not collected, by their objects.
    var queuedCalls: [ModelKey: Set<ReplayJob.ID>] = [:]
    /// The saves that were collected on the way, and are reported by the next collecting.
    var reported: [QueuedSave] = []
    /// The objects whose deletions are queued, by the ordering keys of their calls.
    var pendingDeletions: [String: DeletedModel] = [:]

    /// Creates an empty context.
    ///
    /// - Parameters:
    ///   - engine: loads and saves the models; `nil` for models that stay in memory.
    ///   - now: the clock that ages are taken from.
    public init(engine: Engine? = nil, now: @escaping () -> Date = { Date() }) {
        self.engine = engine
        self.now = now
    }

    deinit {}

    /// The number of live models.
    public var count: Int { Set(models.values.map { $0.toOpaque() }).count }

    /// Returns the live instance of an object, into which the JSON has been merged, or makes it.
    ///
    /// - Throws: ``ModelError``: `missingID` for an object without a usable id, `wrongClass` where the live instance or
    ///   the JSON is of another class.
    public func model<M: Model>(_ type: M.Type = M.self, from json: JSONValue) throws -> M {
        guard let id = try json.modelObject()[type.idKey].flatMap(ModelID.init(json:)) else {
            throw ModelError(
                .missingID, "\(type) has no id at \"\(type.idKey)\" in its JSON: decode it outside a context")
        }
        if let live = self[type.identityClass, id] {
            let model: M = try live.live(for: json)
            try model.merge(json)
            return model
        }
        let model = try type.instance(for: json)
        // Before its values are read, among which it may stand again.
        models[ModelKey(type, id)] = .passUnretained(model)
        let staging = Staging()
        try model.start(with: json, context: self, staging: staging)
        staging.commit()
        return model
    }

    /// Returns the live instance of an object in JSON text.
    ///
    /// - Throws: ``ModelError``.
    public func model<M: Model>(_ type: M.Type = M.self, from text: Data) throws -> M {
        try model(type, from: JSONValue(modelText: text))
    }

    /// Returns the live instance with an id; `nil` when there is none.
    public func existing<M: Model>(_ type: M.Type = M.self, id: ModelID) -> M? {
        self[type.identityClass, id] as? M
    }

    /// The live instance with an id of its class.
    public subscript<M: Model>(id: TypedID<M>) -> M? { existing(M.self, id: id.value) }

    /// Adds a model that is of no context yet: a new object, or a copy.
    ///
    /// - Throws: ``ModelError``: `duplicateID` when another live instance has its id, `otherContext`.
    public func register(_ model: Model) throws {
        try checkRegistration(of: model)
        if model.context !== self { adopt(model) }
    }

    /// Throws what ``register(_:)`` would.
    func checkRegistration(of model: Model) throws {
        if model.context === self { return }
        guard model.context == nil else {
            throw ModelError(.otherContext, "\(model.modelID) is of another context: take its JSON into this one")
        }
        let id = model.modelID
        guard self[type(of: model).identityClass, id] == nil else { throw ModelError.duplicate(id) }
    }

    /// Calls `receive` whenever a model gets another id, until the token is deallocated.
    public func observeIDs(_ receive: @escaping (IDChange) -> Void) -> ObserverToken { observers.add(receive) }

    /// Takes in the answer to a call: merges keep what a user has set and not saved, and what is newer than the answer.
    ///
    /// - Parameter time: the time of the answer in the order of loads and saves.
    func applyingAnswer<Result>(of time: Int, _ body: () throws -> Result) rethrows -> Result {
        let outer = answerTime
        answerTime = time
        defer { answerTime = outer }
        return try body()
    }

    // MARK: Kept by the models

    private subscript(type: Model.Type, id: ModelID) -> Model? {
        models[ModelKey(type, id)]?.takeUnretainedValue()
    }

    private func key(of model: Model, _ id: ModelID) -> ModelKey { ModelKey(type(of: model), id) }

    /// Takes in a model of no context whose id no other has.
    func adopt(_ model: Model) {
        enter(model)
        model.tracking.context = self
        model.linkChildren()
    }

    /// Makes a model of this context the live instance of its id.
    func enter(_ model: Model) { models[key(of: model, model.modelID)] = .passUnretained(model) }

    // The local id still leads to the model: the app may have stored it.
    func rekey(_ model: Model, from old: ModelID, to new: ModelID) {
        if !old.isLocal { models[key(of: model, old)] = nil }
        models[key(of: model, new)] = .passUnretained(model)
        queuedCalls[key(of: model, new)] = queuedCalls[key(of: model, old)]
        if order.deleted.remove(key(of: model, old)) != nil { order.deleted.insert(key(of: model, new)) }
        observers.notify(IDChange(model: model, old: old, new: new))
    }

    /// Lets another model take the place of a live instance, which becomes a copy.
    func replace(_ old: Model) {
        forget(old.tracking.ids, of: type(of: old), being: ObjectIdentifier(old))
        old.tracking.context = nil
    }

    func forget(_ ids: [ModelID], of type: Model.Type, being identity: ObjectIdentifier) {
        for id in ids {
            let key = ModelKey(type, id)
            guard let model = models[key], UInt(bitPattern: model.toOpaque()) == UInt(bitPattern: identity)
            else { continue }
            models[key] = nil
        }
    }
}

@available(*, unavailable)
extension ModelContext: Sendable {}
