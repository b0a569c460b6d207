import Diamond

/// The state of a model, without its values. It cannot be copied, because that is slow: reading a part of it does not.
@usableFromInline
struct Tracking: ~Copyable {
    /// The members of ``source``.
    var members: SourceMembers?
    @usableFromInline var repairs: [Repair] = []
    /// The properties that were set since the last sync, with their values as of then.
    @usableFromInline var dirty: ContiguousArray<DirtyProperty> = []
    @usableFromInline var rejections: [Violation] = []

    var serverID: ModelID?
    var localID: ModelID?
    /// Whether the server has deleted the object, and it was not added to a collection since.
    var isDestroyed = false
    private weak var liveContext: ModelContext?
    var context: ModelContext? {
        get { liveContext }
        set {
            liveContext = newValue
            hadEngine = newValue?.engine != nil
        }
    }
    /// Whether the model has a context with an engine, or had one that was released since.
    private(set) var hadEngine = false

    /// The links to the collections and models that contain this model. Each removes itself when it is deallocated.
    @usableFromInline var links = OwnerLinks()
    /// The number of links that were ever made.
    var linkCount: UInt32 = 0
    /// The state of the links to nested models. They are made for the first observer or owner.
    var nesting = Nesting.unknown
    /// The links to nested models, by property.
    var children: [ChildLink] = []
    @usableFromInline var observers: Observers<ModelEvent>?

    /// The logical times (``SyncOrder``) of the responses that have set properties, by key. Only recorded while older
    /// responses may arrive.
    var answerTimes: [String: Int]?
    /// The state of loading and saving, created on first use.
    var syncing: ModelSyncing?

    @usableFromInline var transactionDepth = 0
    var pending: [PropertyChange] = []
    /// The state at the begin of the transaction.
    var stateBefore = State()
    /// Whether the state of a nested model has changed in this transaction, or ``Model/saveState``.
    var hasOtherStateChange = false
    /// Whether observers of the model receive a change, after which its rows are placed again.
    var isNotifying = false
    /// Whether a change is being forwarded by this model. Breaks cycles.
    var isForwarding = false
    /// Whether the model and its nested models are being read. Breaks cycles.
    var isVisiting = false

    /// Whether a change of a property without rules only has to set its dirty bit, and to be reported.
    @inlinable var isPlain: Bool { transactionDepth == 0 && repairs.isEmpty && rejections.isEmpty }

    /// Whether changes are reported.
    @inlinable var isObserved: Bool { !links.isEmpty || observers != nil }

    /// The last JSON of the server, including unknown members; `nil` for an object that was never synced. Each reading
    /// makes a dictionary. A long text is replaced by its values.
    var source: [String: JSONValue]? {
        mutating get {
            if let members, members.isLongText { self.members = members.read }
            return members?.object
        }
        set {
            let names = members?.names ?? []
            members = newValue.map { SourceMembers($0, names: names) ?? SourceMembers($0) }
        }
    }

    /// Whether the object was synced.
    var hasSource: Bool { members != nil }

    var ids: [ModelID] { [serverID, localID].compactMap { $0 } }

    /// The state that changes without a property.
    struct State: Equatable {
        var isNew = true
        /// Whether properties of the model itself were set.
        var isDirty = false
    }

    var state: State { State(isNew: serverID == nil, isDirty: !dirty.isEmpty) }

    @usableFromInline
    init() {}

    /// Sets the dirty bit of a property, or clears it if the value is the original one again.
    @inlinable
    mutating func markDirty<Owner: Model, Value>(
        _ property: Property<Owner, Value>, from old: Value, to new: Value, areSame: (Value, Value) -> Bool
    ) {
        let identity = ObjectIdentifier(property)
        for index in 0..<dirty.count where dirty[index].identity == identity {
            let isBack = areSame(unsafeDowncast(dirty[index].original, to: Original<Value>.self).value, new)
            if isBack { dirty.remove(at: index) }
            return
        }
        dirty.append(DirtyProperty(property: property, original: Original(old)))
    }

    /// Returns whether a property was set since the last sync.
    func isDirty(_ property: AnyProperty) -> Bool {
        let identity = ObjectIdentifier(property)
        for index in 0..<dirty.count where dirty[index].identity == identity { return true }
        return false
    }

    enum Nesting {
        case unknown
        case absent
        case linked
    }
}

/// A property that was set since the last sync.
@usableFromInline
struct DirtyProperty {
    @usableFromInline let property: AnyProperty
    /// The value as of the last sync.
    @usableFromInline let original: AnyOriginal

    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(property: AnyProperty, original: AnyOriginal) {
        identity = ObjectIdentifier(property)
        self.property = property
        self.original = original
    }
}

/// A link from a model to its owner: an entry of a collection, or a property of another model.
@usableFromInline
class OwnerLink {
    let model: Model
    /// The index in the model's links. A model may have very many, such as the author of all rows of a list.
    private var index: UInt32
    /// The number of earlier links of the model.
    let number: UInt32

    init(_ model: Model) {
        self.model = model
        number = model.tracking.linkCount
        model.tracking.linkCount &+= 1
        index = UInt32(model.tracking.links.count)
        model.tracking.links.append(.passUnretained(self))
        model.linkChildren()
    }

    deinit {
        model.tracking.links.remove(at: Int(index))?._withUnsafeGuaranteedRef { $0.index = index }
    }

    /// Adds the collections above the model whose rows may change when it reports its changes.
    func addCollections(to waiting: inout WaitingCollections) {}

    /// Receives a change of the model.
    func receive(_ event: ModelEvent) {}

    /// Receives a new id of the model.
    func receiveID(from old: ModelID, to new: ModelID) {}

    /// Returns whether the owner has another model with an id.
    func holdsOther(of id: ModelID) -> Bool { false }

    /// Removes the model from a collection. Does nothing for a property.
    func leave() {}
}

/// A link from a nested model to the model that holds it in a property.
final class ChildLink: OwnerLink {
    /// The owner. It is weak, because an observer may release the owner while the link still has to receive an event.
    private weak var parent: Model?
    let property: AnyProperty

    init(from child: Model, to parent: Model, at property: AnyProperty) {
        self.parent = parent
        self.property = property
        super.init(child)
    }

    override func addCollections(to waiting: inout WaitingCollections) { parent?.addCollections(to: &waiting) }

    /// The model that holds the nested one.
    var owner: Model? { parent }

    override func receive(_ event: ModelEvent) { parent?.receive(event, from: property) }

    /// Replaces the nested model by another one with the same id.
    func replaceChild(with child: Model) {
        guard let parent else { return }
        parent.transact(source: .server) {
            let slot = PropertyVisitor.Slot(property: property, value: child)
            for change in PropertyVisitor.assign([slot], to: parent) { parent.note(change) }
        }
    }
}
