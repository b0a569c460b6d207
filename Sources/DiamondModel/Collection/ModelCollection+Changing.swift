public import Diamond
public import Foundation

extension ModelCollection {
    /// Adds a model, which shows at its place in the order.
    ///
    /// - Returns: `false` when the collection has it already.
    /// - Throws: ``ModelError``: `duplicateID` when another model in it has the id, `wrongClass`, `otherContext`.
    @discardableResult
    public func add(_ model: Object) throws -> Bool { try core.add(model, at: .sorted, .added) }

    /// Adds a model behind the last row, out of the sort order, until the next sort.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does.
    @discardableResult
    public func append(_ model: Object) throws -> Bool {
        try core.add(model, at: .index(core.visibleCount), .inserted)
    }

    /// Inserts a model at the index of a row, or as near to it as its section allows.
    ///
    /// With sort keys the row stays there until the next ``sort()``, or until a property changes that a sort key reads.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does, and `outOfRange`.
    @discardableResult
    public func insert(_ model: Object, at index: Int) throws -> Bool {
        try core.add(model, at: .index(index), .inserted)
    }

    /// Removes a model, on show or not.
    ///
    /// - Returns: whether it was in the collection.
    @discardableResult
    public func remove(_ model: Object) -> Bool {
        guard let entry = core.entry(of: model) else { return false }
        core.remove(entry)
        return true
    }

    /// Removes the row at an index.
    ///
    /// - Throws: ``ModelError`` `outOfRange`.
    @discardableResult
    public func remove(at index: Int) throws -> Object {
        try core.check(index, within: core.visibleCount - 1)
        let model = self[index]
        remove(model)
        return model
    }

    /// Removes the models that a predicate picks, on show or not, and returns them.
    @discardableResult
    public func removeAll(where isRemoved: (Object) -> Bool) -> [Object] {
        core.removeAll { isRemoved(unsafeDowncast($0, to: Object.self)) }.map { unsafeDowncast($0, to: Object.self) }
    }

    /// Removes all models, on show or not.
    public func removeAll() { removeAll { _ in true } }

    /// Removes and returns the last row; `nil` when nothing is on show.
    public func popLast() -> Object? { isEmpty ? nil : try? remove(at: count - 1) }

    /// Removes and returns the first row; `nil` when nothing is on show.
    public func popFirst() -> Object? { isEmpty ? nil : try? remove(at: 0) }

    /// Moves a row, within its section.
    ///
    /// - Parameters:
    ///   - index: the index of the row.
    ///   - target: the index that the row has afterwards.
    /// - Throws: ``ModelError`` `outOfRange`.
    public func move(from index: Int, to target: Int) throws { try core.move(from: index, to: target) }

    /// Exchanges two rows.
    ///
    /// - Throws: ``ModelError`` `outOfRange`.
    public func exchange(_ first: Int, _ second: Int) throws { try core.exchange(first, second) }

    /// Puts a model in the place of the row at an index, and returns the model that was there.
    ///
    /// - Throws: ``ModelError`` as ``insert(_:at:)`` does.
    @discardableResult
    public func replace(at index: Int, with model: Object) throws -> Object {
        unsafeDowncast(try core.replace(at: index, with: model), to: Object.self)
    }

    /// Replaces the content and the insertion order by those of a list. Models that are in both stay.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does; nothing is changed then.
    public func set(_ models: [Object]) throws { try core.setModels(models) }
}

// MARK: JSON

extension ModelCollection {
    /// The elements of JSON arrays that are no models, with the reasons. They are written back with the models.
    public var rejected: [Rejection] { core.rejected }

    /// The models as a JSON array in the order in which they were put in, with the rejected elements among them.
    public var json: JSONValue { core.json }

    /// Merges the elements of a JSON array into the models with their ids, and adds the others.
    ///
    /// - Throws: ``ModelError`` `malformed` for JSON that is no array. Bad elements go to ``rejected``.
    public func upsert(_ json: JSONValue) throws { core.upsert(try json.modelArray()) }

    /// Merges and adds the elements of a JSON text.
    ///
    /// - Throws: ``ModelError`` `malformed`. Bad elements go to ``rejected``.
    public func upsert(_ text: Data) throws { try upsert(JSONValue(modelText: text)) }

    /// Replaces the content by that of a JSON array: merges by id, adds, removes the other models, and takes over the order.
    /// A model whose rules refuse its element stays as it is, in the element's place.
    ///
    /// - Throws: ``ModelError`` `malformed` for JSON that is no array; nothing is changed then.
    public func set(_ json: JSONValue) throws { core.replaceAll(with: try json.modelArray()) }

    /// Replaces the content by that of a JSON text.
    ///
    /// - Throws: ``ModelError`` `malformed`; nothing is changed then.
    public func set(_ text: Data) throws { try set(JSONValue(modelText: text)) }
}

extension JSONValue {
    fileprivate func modelArray() throws -> [JSONValue] {
        guard case .array(let values) = self else {
            throw ModelError(.malformed, "a collection is a JSON array, and this is \(kindName)")
        }
        return values
    }
}
