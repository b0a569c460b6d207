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
    var answerTimes: [String: SyncTime]?
    /// The state of loading and saving, created on first use.
    var syncing: ModelSyncing?

    @usableFromInline var transactionDepth = 0
    var pending: [PropertyChange] = []
    /// The flags at the begin of the transaction.
    var flagsBefore = Flags()
    /// Whether the state of a nested model has changed in this transaction, or ``Model/saveState``.
    var hasOtherStateChange = false
    /// Whether observers of the model receive a change, after which its rows are placed again.
    var isNotifying = false
    /// Whether a change is being forwarded by this model. Breaks cycles.
    var isForwarding = false
    /// Whether the model and its nested models are being read. Breaks cycles.
    var isVisiting = false

    /// Whether a change of a quiet property (``AnyProperty/isQuiet``) only has to set or clear its dirty bit, and to be
    /// reported.
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
    // A comparison with nil would copy the members.
    var hasSource: Bool { if case nil = members { false } else { true } }

    var ids: [ModelID] { [serverID, localID].compactMap { $0 } }

    /// The states that change without a property.
    struct Flags: Equatable {
        var isNew = true
        /// Whether properties of the model itself were set.
        var isDirty = false
    }

    var flags: Flags { Flags(isNew: serverID == nil, isDirty: !dirty.isEmpty) }

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
