/// Models are equal if they are the same object. ``isEqual(to:)`` compares their properties.
extension Model: Hashable {
    public static func == (left: Model, right: Model) -> Bool { left === right }

    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The id is ``modelID``, also if the class has a property `id` of another type.
extension Model: Identifiable {
    public typealias ID = ModelID
}

extension ModelObject where Self: Model {
    /// The model's id, for `Identifiable`: ``Model/modelID``. A class may declare a property with this name.
    public var id: ModelID { modelID }

    /// The collections of this class that contain the object, in the order in which it was added to them.
    public var collections: [ModelCollection<Self>] { collections(of: Self.self) }

    /// Returns the collections of a class, such as a superclass, that contain the object.
    ///
    /// - Parameter type: The class of the collections' models.
    public func collections<Object: Model>(of type: Object.Type) -> [ModelCollection<Object>] {
        orderedLinks.compactMap { link in
            guard let entry = link as? Entry, entry.isMember else { return nil }
            return entry.owner?.collection as? ModelCollection<Object>
        }
    }
}
