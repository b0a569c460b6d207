import Diamond
import Foundation

extension Model {
    /// Returns a copy outside every context, with copies of the nested models.
    public final func copy() -> Self {
        guard !tracking.isVisiting else { return self }
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        let copy = type(of: self).init()
        let slots = PropertyVisitor.slots(of: self)
        PropertyVisitor.fill(
            copy,
            with: slots.map { PropertyVisitor.Slot(property: $0.property, value: $0.property.duplicate($0.value)) })
        // Collections are constants, so the new ones are filled.
        for (old, new) in zip(slots, PropertyVisitor.slots(of: copy)) {
            guard let source = old.property.nestedCollection(in: old.value) else { continue }
            new.property.nestedCollection(in: new.value)?.fillWithCopies(of: source)
        }
        copy.tracking.copyState(from: tracking)
        return copy
    }

    /// Returns whether another model has the same class and equal properties, including nested models.
    public final func isEqual(to other: Model) -> Bool {
        if self === other { return true }
        guard type(of: self) == type(of: other), !tracking.isVisiting else { return false }
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        return zip(PropertyVisitor.slots(of: self), PropertyVisitor.slots(of: other)).allSatisfy {
            $0.property.access == .transient || $0.property.areEqual($0.value, $1.value)
        }
    }
}

extension Tracking {
    fileprivate mutating func copyState(from other: borrowing Tracking) {
        members = other.members
        repairs = other.repairs
        dirty = ContiguousArray(other.dirty.map(\.copied))
        serverID = other.serverID
    }
}

extension DirtyProperty {
    /// The property with a copy of an original nested model.
    fileprivate var copied: DirtyProperty {
        guard property.isNested, let original = property.original(property.duplicate(original.anyValue)) else {
            return self
        }
        return DirtyProperty(property: property, original: original)
    }
}

#if canImport(ObjectiveC)
extension Model: NSCopying {
    public final func copy(with zone: NSZone? = nil) -> Any { copy() }
}
#endif
