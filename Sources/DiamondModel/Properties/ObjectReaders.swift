import Diamond

/// The readers of objects, one for each class. Most objects of a list have the names of the last one, in its order.
final class ObjectReaders {
    // Unchecked, because each is used for every object, and each access only takes or stores a value.
    @exclusivity(unchecked) private var last: (type: ObjectIdentifier, visitor: PropertyVisitor)?
    @exclusivity(unchecked) private var visitors: [ObjectIdentifier: PropertyVisitor] = [:]
    /// The names of the members of the last object of each class whose members are values.
    private var names: [ObjectIdentifier: [String]] = [:]

    /// The texts of the objects.
    @exclusivity(unchecked) private var texts = TextKeeper()

    /// The staging of the last object that was read.
    @exclusivity(unchecked) private var staging: Staging?
    /// The number of objects that are being read, each within the one before.
    @exclusivity(unchecked) private var depth = 0

    /// Runs `body` with a new staging.
    func staging(_ body: (Staging) throws -> Void) rethrows {
        let staging = staging ?? Staging()
        self.staging = nil
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { texts.removeOwners() }
        }
        try body(staging)
        staging.reset()
        self.staging = staging
    }

    /// Reads a new model's values, except the arrays of nested collections.
    func read(
        _ object: ObjectMembers, into model: Model, context: ModelContext?, staging: Staging?
    ) -> PropertyVisitor.Reading {
        let type = ObjectIdentifier(type(of: model))
        let visitor = take(type)
        defer {
            storeLast()
            last = (type, visitor)
        }
        return visitor.read(object, into: model, context: context, staging: staging, readers: self)
    }

    /// Removes and returns the reader of a class: an object may contain others of its class.
    private func take(_ type: ObjectIdentifier) -> PropertyVisitor {
        if let last, last.type == type {
            self.last = nil
            return last.visitor
        }
        storeLast()
        return visitors.removeValue(forKey: type) ?? PropertyVisitor(.read)
    }

    private func storeLast() {
        if let last { visitors[last.type] = last.visitor }
        last = nil
    }

    /// Returns the members of an object. Values share their names with those of the last object of the class.
    func members(_ object: ObjectMembers, of type: Model.Type) -> SourceMembers {
        if let text = object.keptText(by: &texts) { return SourceMembers(text: text) }
        let values = object.values ?? [:]
        let type = ObjectIdentifier(type)
        if let names = names[type], let members = SourceMembers(values, names: names) { return members }
        let members = SourceMembers(values)
        names[type] = members.names
        return members
    }
}
