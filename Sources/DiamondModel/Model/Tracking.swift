import Diamond

/// The state of one model, without its values.
@usableFromInline
struct Tracking {
    /// The JSON as the server has it, unknown members included; `nil` for an object that was never in sync.
    var source: [String: JSONValue]?
    @usableFromInline var repairs: [Repair] = []
    /// The properties that were set since the last sync, with their values at that time.
    @usableFromInline var dirty: ContiguousArray<DirtyProperty> = []
    @usableFromInline var rejections: [Violation] = []

    var serverID: ModelID?
    var localID: ModelID?
    weak var context: ModelContext?

    /// The links to collections and models that own this one; each removes itself.
    @usableFromInline var links: [Unmanaged<OwnerLink>] = []
    /// The state of the links to nested models, which are made when the first observer or owner needs them.
    var nesting = Nesting.unknown
    /// The links to nested models, by property.
    var children: [ChildLink] = []
    @usableFromInline var observers: Observers<ModelEvent>?

    /// The times of the answers that properties are of, by key, as long as older ones may come; `nil` for none.
    var answerTimes: [String: Int]?
    /// The state of loading and saving, once it is asked for.
    var syncing: ModelSyncing?

    @usableFromInline var transactionDepth = 0
    var pending: [PropertyChange] = []
    /// Whether a change is on its way through this model, which ends cycles.
    var isForwarding = false
    /// Whether the model and its nested models are being read, which ends cycles.
    var isVisiting = false

    var ids: [ModelID] { [serverID, localID].compactMap { $0 } }

    @usableFromInline
    init() {}

    /// Sets the dirty bit of a property, or clears it where the value is the original one again.
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
    /// `nil` for a property of a nested model that was replaced, whose original is kept as it is.
    @usableFromInline let original: AnyOriginal

    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(property: AnyProperty, original: AnyOriginal) {
        identity = ObjectIdentifier(property)
        self.property = property
        self.original = original
    }
}

/// A link from a model to its owner: a collection's entry, or the property of another model.
@usableFromInline
class OwnerLink {
    let model: Model

    init(_ model: Model) {
        self.model = model
        model.tracking.links.append(.passUnretained(self))
        model.linkChildren()
    }

    deinit {
        let link = Unmanaged.passUnretained(self).toOpaque()
        model.tracking.links.removeAll { $0.toOpaque() == link }
    }

    /// Receives a change of the model.
    func receive(_ event: ModelEvent) {}

    /// Receives a new id of the model.
    func receiveID(from old: ModelID, to new: ModelID) {}

    /// Whether the owner holds another model of an id.
    func holdsOther(of id: ModelID) -> Bool { false }

    /// Removes the model from its owner, where that is possible.
    func leave() {}
}

/// A link from a nested model to the model that holds it in a property.
final class ChildLink: OwnerLink {
    /// The owner, which drops its links when it ends. An observer may end it while the link still has to receive an event.
    private weak var parent: Model?
    let property: AnyProperty

    init(from child: Model, to parent: Model, at property: AnyProperty) {
        self.parent = parent
        self.property = property
        super.init(child)
    }

    override func receive(_ event: ModelEvent) { parent?.receive(event, from: property) }

    /// Puts a model in the place of the nested one, which has the same id by now.
    func substitute(_ child: Model) {
        guard let parent else { return }
        parent.transact(source: .server) {
            let slot = PropertyVisitor.Slot(property: property, value: child)
            for change in PropertyVisitor.assign([slot], to: parent) { parent.note(change) }
        }
    }
}
