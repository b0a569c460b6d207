public import Diamond
public import Foundation
public import Observation

/// An identity map: one live instance for each class and id.
///
/// A context and its models belong to one isolation domain, the main actor's or an actor's. A context does not retain
/// its models, and a model does not retain its context: retain the context as long as its models have to be the live
/// instances. Decoding with a `Decoder` creates copies outside of any context.
///
/// An object that becomes live shows the saves and deletions that wait in the engine's queue (<doc:Queueing>).
public final class ModelContext: Observable {
    /// A change of a model's id.
    public struct IDChange {
        public let model: Model
        public let old: ModelID
        public let new: ModelID
    }

    // Unretained: a model removes itself in its `deinit`. Unchecked, because a check takes as long as an access, and no
    // access calls code of the app.
    @exclusivity(unchecked) private var models: [ModelKey: Unmanaged<Model>] = [:]
    private let observers = Observers<IDChange>()
    let registrar = ObservationRegistrar()

    /// The engine that loads and saves the models; `nil` for models that stay in memory.
    public let engine: Engine?
    /// Returns the current time, to compute the age of loaded data.
    let now: () -> Date
    /// The order of loads and saves.
    let order: SyncOrder
    /// The identities of the objects. A save for another identity is refused.
    let identities = ContextIdentities()
    /// The logical time (``SyncOrder``) of the response that is being applied; `nil` if there is none.
    @exclusivity(unchecked) private(set) var answerTime: SyncTime?
    /// The time at which that response was received, if it has waited in the queue since.
    private(set) var answerDate: Date?

    /// Called with the answered saves of the queue, after the answers were applied to the objects and before the queue
    /// deletes the answers. A program that stores its objects itself does so here. If the function throws, the answers
    /// stay in the queue.
    public var recordSaves: (([QueuedSave]) throws -> Void)?
    /// The readers of JSON texts.
    let readers = ObjectReaders()
    /// The lock for collecting responses.
    let collecting = AsyncLock()
    /// The calls that wait in the queue.
    @exclusivity(unchecked) var overlay = QueueOverlay()
    /// The saves that were collected by other calls. The next ``collectSaves(of:)`` returns them.
    var unreported: [QueuedSave] = []
    /// The queued calls that were reported as in need of review, with the time at which they were put there.
    var reviews: [ReplayJob.ID: QueueTime] = [:]
    /// The server's ids of the objects that were created on this device, by local id.
    var serverIDs: [String: JSONValue] = [:]
    /// The server's ids that are not in the properties of referring objects yet, while a response is being applied.
    var newIDs: [String: JSONValue] = [:]
    var isNotingIDs = false
    /// Whether a class has properties that refer to other objects.
    var referringTypes: [ObjectIdentifier: Bool] = [:]
    /// The objects whose deletions are queued, by the ordering keys of their calls.
    var pendingDeletions: [ExactText: DeletedModel] = [:]

    /// Creates an empty context.
    ///
    /// - Parameters:
    ///   - engine: The engine that loads and saves the models; `nil` for models that stay in memory.
    ///   - now: Returns the current time, to compute the age of loaded data.
    public init(engine: Engine? = nil, now: @escaping () -> Date = { Date() }) {
        self.engine = engine
        self.now = now
        order = SyncOrder(now: now)
    }

    deinit { overlay.following?.cancel() }

    /// The number of live models.
    package var count: Int { Set(models.values.map { $0.toOpaque() }).count }

    /// The live models. A model with two ids is there twice.
    var liveModels: some Sequence<Model> { models.values.lazy.map { $0.takeUnretainedValue() } }

    /// Merges JSON into the live instance of its object. Creates the instance if there is none. Changes that wait in the
    /// queue are shown, as unsaved changes.
    ///
    /// - Returns: The live instance.
    /// - Throws: ``ModelError``: `missingID` for an object without a usable id, `wrongClass` if the live instance or
    ///   the JSON is of another class.
    public func model<M: Model>(_ type: M.Type = M.self, from json: JSONValue) throws -> M {
        try model(type, from: ObjectMembers(json.modelObject()))
    }

    /// - Parameters:
    ///   - id: The id in the object, if it was read.
    ///   - prepared: A new model with the values of the object, which becomes the live instance if there is none.
    func model<M: Model>(
        _ type: M.Type, from object: ObjectMembers, id: ModelID? = nil, prepared: Model? = nil
    ) throws -> M {
        guard let id = id ?? object.id(at: type.idKey) else {
            throw ModelError(
                .missingID, "\(type) has no id at \"\(type.idKey)\" in its JSON: decode it outside a context")
        }
        // A queue that cannot be read prevents no load. The engine reports it.
        if answerTime == nil { try? refreshCalls(isWhole: false) }
        if let live = live(at: ModelKey(type, id)) {
            let model: M = try live.live(for: object)
            try model.merge(object)
            return model
        }
        let model = try prepared as? M ?? type.instance(for: object)
        // Registered before its values are read, because they may contain the same object.
        models[ModelKey(type, id)] = .passUnretained(model)
        if prepared === model {
            model.tracking.context = self
            if let answerTime { model.noteFirstAnswer(at: answerTime, of: object, in: self) }
        } else {
            try readers.staging { staging in
                try model.start(
                    with: object, id: Swift.type(of: model) == type ? id : nil, context: self, staging: staging)
                staging.commit()
            }
        }
        showCalls(on: model)
        return model
    }

    /// Merges JSON text into the live instance of its object. Creates the instance if there is none.
    ///
    /// - Returns: The live instance.
    /// - Throws: ``ModelError``.
    public func model<M: Model>(_ type: M.Type = M.self, from text: Data) throws -> M {
        try model(type, from: JSONItem(modelText: text).modelObject())
    }

    /// Returns the live instance with an id; `nil` when there is none.
    public func existing<M: Model>(_ type: M.Type = M.self, id: ModelID) -> M? {
        live(at: ModelKey(type, id)) as? M
    }

    /// The live instance with an id of its class.
    public subscript<M: Model>(id: TypedID<M>) -> M? { existing(M.self, id: id.value) }

    /// Adds a model that has no context yet: a new object, or a copy.
    ///
    /// - Throws: ``ModelError``: `duplicateID` if another live instance has its id, `otherContext` if the model belongs
    ///   to another context.
    public func register(_ model: Model) throws {
        try checkRegistration(of: model)
        if model.context === self { return }
        if answerTime == nil { try? refreshCalls(isWhole: false) }
        adopt(model)
    }

    /// Throws the error that ``register(_:)`` would throw.
    func checkRegistration(of model: Model) throws(ModelError) {
        if model.context === self { return }
        let id = model.untrackedID
        if model.context == nil, live(at: key(of: model, id)) != nil { throw ModelError.duplicate(id) }
        var visited: Set<ObjectIdentifier> = []
        try checkContext(of: model, visited: &visited)
    }

    /// Throws if a model, or one that it contains, belongs to another context.
    private func checkContext(of model: Model, visited: inout Set<ObjectIdentifier>) throws(ModelError) {
        if model.context === self { return }
        guard model.context == nil else {
            throw ModelError(.otherContext, "\(model.untrackedID) is of another context: take its JSON into this one")
        }
        guard visited.insert(ObjectIdentifier(model)).inserted else { return }
        for slot in model.nestedSlots {
            for (_, nested) in slot.nestedModels { try checkContext(of: nested, visited: &visited) }
        }
    }

    /// Calls `receive` whenever the id of a model changes, until the token is deallocated.
    public func observeIDs(_ receive: @escaping (IDChange) -> Void) -> ObserverToken { observers.add(receive) }

    /// Runs `body`. Its merges count as a server's response: they preserve unsaved changes and newer responses' values.
    ///
    /// - Parameters:
    ///   - time: The logical time of the response.
    ///   - date: The time at which the response was received; `nil` for now.
    func applyingAnswer<Result>(
        of time: SyncTime, receivedAt date: Date? = nil, _ body: () throws -> Result
    ) rethrows -> Result {
        let outerTime = answerTime
        let outerDate = answerDate
        answerTime = time
        answerDate = date
        defer {
            answerTime = outerTime
            answerDate = outerDate
        }
        return try body()
    }

    // MARK: Called by the models

    /// Reserves memory for a number of new live instances.
    func reserve(_ count: Int) { models.reserveCapacity(models.count + count) }

    func live(at key: ModelKey) -> Model? { models[key]?.takeUnretainedValue() }

    private func key(of model: Model, _ id: ModelID) -> ModelKey { ModelKey(type(of: model), id) }

    /// Adds a model that has no context yet, with its nested models. No live instance may have its id.
    func adopt(_ model: Model) {
        enter(model)
        model.tracking.context = self
        model.linkChildren()
        for slot in model.nestedSlots {
            if let core = slot.nestedCollection, core.context == nil { core.context = self }
            for (_, nested) in slot.nestedModels where nested.context == nil { adopt(nested, of: model) }
        }
        showCalls(on: model)
    }

    /// Adds a nested model, or replaces it by the live instance of its id. A nested model whose unsaved changes the
    /// live instance lacks stays a copy.
    func adopt(_ nested: Model, of owner: Model) {
        guard let live = live(at: key(of: nested, nested.untrackedID)) else { return adopt(nested) }
        guard type(of: live) == type(of: nested), !nested.isDirty || nested.isEqual(to: live) else { return }
        nested.replace(by: live, in: owner)
    }

    /// Makes a model of this context the live instance of its id.
    func enter(_ model: Model) {
        models[key(of: model, model.untrackedID)] = .passUnretained(model)
        // An archived object may have both ids, and queued calls know it by the local one.
        guard model.tracking.serverID != nil, let localID = model.tracking.localID else { return }
        let key = key(of: model, localID)
        if models[key] == nil { models[key] = .passUnretained(model) }
    }

    // The local id still finds the model: the app may have stored it.
    func rekey(_ model: Model, from old: ModelID, to new: ModelID) {
        if !old.isLocal { models[key(of: model, old)] = nil }
        models[key(of: model, new)] = .passUnretained(model)
        if order.deleted.remove(key(of: model, old)) != nil { order.deleted.insert(key(of: model, new)) }
        note(new, of: old)
        observers.notify(IDChange(model: model, old: old, new: new))
    }

    /// Removes a live instance, which becomes a copy. The caller makes another model the live instance.
    func detach(_ old: Model) {
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
