public import Diamond
public import Foundation

extension ModelCollection {
    /// Adds a model at its sorted position.
    ///
    /// - Returns: `false` if it is already in the collection.
    /// - Throws: ``ModelError``: `duplicateID` if another model in the collection or its context has the id;
    ///   `otherContext` if the model belongs to another context.
    @discardableResult
    public func add(_ model: Object) throws -> Bool { try core.add(model, at: .sorted, reason: .added) }

    /// Adds a model after the last row, regardless of the sort keys, until the next sort.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does.
    @discardableResult
    public func append(_ model: Object) throws -> Bool {
        try core.add(model, at: .index(core.visibleCount), reason: .inserted)
    }

    /// Inserts a model at an index, or as near to it as its section allows.
    ///
    /// The row of a sorted collection stays there until the next ``sort()``, or until the value of a sort key changes.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does, and `outOfRange`.
    @discardableResult
    public func insert(_ model: Object, at index: Int) throws -> Bool {
        try core.add(model, at: .index(index), reason: .inserted)
    }

    /// Removes a model, visible or not.
    ///
    /// - Returns: Whether it was in the collection.
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

    /// Removes the models that satisfy a predicate, visible or not, and returns them.
    @discardableResult
    public func removeAll(where isRemoved: (Object) -> Bool) -> [Object] {
        core.removeAll { isRemoved(unsafeDowncast($0, to: Object.self)) }.map { unsafeDowncast($0, to: Object.self) }
    }

    /// Removes all models, visible or not.
    public func removeAll() { removeAll { _ in true } }

    /// Removes and returns the last visible model, or returns `nil` if there is none.
    public func popLast() -> Object? { isEmpty ? nil : try? remove(at: count - 1) }

    /// Removes and returns the first visible model, or returns `nil` if there is none.
    public func popFirst() -> Object? { isEmpty ? nil : try? remove(at: 0) }

    /// Moves a row, within its section.
    ///
    /// - Parameters:
    ///   - index: The index of the row.
    ///   - target: The index of the row after the move.
    /// - Throws: ``ModelError`` `outOfRange`.
    public func move(from index: Int, to target: Int) throws { try core.move(from: index, to: target) }

    /// Swaps two rows.
    ///
    /// - Throws: ``ModelError`` `outOfRange`.
    public func swapAt(_ first: Int, _ second: Int) throws { try core.swapAt(first, second) }

    /// Replaces the model of the row at an index, and returns the old model.
    ///
    /// - Throws: ``ModelError`` as ``insert(_:at:)`` does.
    @discardableResult
    public func replace(at index: Int, with model: Object) throws -> Object {
        unsafeDowncast(try core.replace(at: index, with: model), to: Object.self)
    }

    /// Replaces the content and the insertion order with a list. Models in both stay.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does. Nothing is changed then.
    public func set(_ models: [Object]) throws { try core.setModels(models) }
}

// MARK: JSON

extension ModelCollection {
    /// The elements of JSON arrays that could not be read as models, with the reasons. ``json`` contains them.
    public var rejected: [Rejection] {
        track()
        return core.rejected
    }

    /// The models as a JSON array in insertion order, including the rejected elements.
    public var json: JSONValue { core.json }

    /// The models and rejected elements as JSON text, in canonical form: the text of ``json``, which is not made.
    ///
    /// - Throws: ``ModelError`` for a number that is not finite.
    public func jsonText() throws -> Data { try PropertyVisitor.text { $0.write(core) } }

    /// Merges the elements of a JSON array into the models with their ids, and adds elements with new ids.
    ///
    /// - Throws: ``ModelError`` `malformed` for JSON that is not an array. Bad elements go to ``rejected``.
    public func upsert(_ json: JSONValue) throws { core.upsert(try JSONItem.value(json).modelArray()) }

    /// Merges and adds the elements of a JSON text.
    ///
    /// - Throws: ``ModelError`` `malformed`. Bad elements go to ``rejected``.
    public func upsert(_ text: Data) throws { try core.upsert(JSONItem(modelText: text).modelArray()) }

    /// Replaces the content with a JSON array: merges models by id, adds new ones, removes the others, and applies the
    /// array's order. A model whose rules reject its element stays unchanged at the element's index.
    ///
    /// - Throws: ``ModelError`` `malformed` for JSON that is not an array. Nothing is changed then.
    public func set(_ json: JSONValue) throws { core.replaceAll(with: try JSONItem.value(json).modelArray()) }

    /// Replaces the content with a JSON text.
    ///
    /// - Throws: ``ModelError`` `malformed`. Nothing is changed then.
    public func set(_ text: Data) throws { try core.replaceAll(with: JSONItem(modelText: text).modelArray()) }
}

extension JSONItem {
    fileprivate func modelArray() throws -> [JSONItem] {
        guard let elements else {
            throw ModelError(.malformed, "a collection needs a JSON array, and this is \(value.kindName)")
        }
        return elements
    }
}

/// An element of a JSON array that could not be read as a model. It is kept, so that it can be written back.
public struct Rejection: Hashable, Sendable {
    /// The index in the array.
    public let index: Int
    public let json: JSONValue
    public let error: ModelError
}
