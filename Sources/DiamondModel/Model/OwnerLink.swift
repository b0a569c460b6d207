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
