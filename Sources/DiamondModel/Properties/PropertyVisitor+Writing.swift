import Diamond
import Foundation

/// Writing models as JSON text without making values of them.
extension PropertyVisitor {
    /// A model whose values are being written.
    struct WrittenModel {
        // Not retained for each property: it is visited.
        unowned(unsafe) let model: Model
        /// Whether a value has a place in the JSON that is found only in its tree.
        var needsTree = false
    }

    /// Returns the text that `body` writes.
    ///
    /// - Throws: ``ModelError`` for a number that is not finite.
    static func text(_ body: (PropertyVisitor) -> Void) throws -> Data {
        let visitor = PropertyVisitor(.write)
        body(visitor)
        do { return Data(try visitor.output.text()) } catch { throw ModelError(.notWritable, "\(error)") }
    }

    /// Writes a model as its ``Model/json``.
    func write(_ model: Model) {
        guard !model.tracking.isVisiting else { return output.write(model.ownReference) }
        model.visiting { writeObject(of: model) }
    }

    private func writeObject(of model: Model) {
        let outer = writing
        writing = WrittenModel(model: model)
        let object = output.beginObject()
        model.visit(self)
        model.trackSyncState()
        let written = writing
        writing = outer
        model.tracking.members?.write(to: &output, in: object, order: &order)
        if output.endObject(object), written?.needsTree == false { return }
        output.remove(object)
        output.write(.object(model.object()))
    }

    func write<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) {
        guard let model = writing?.model else { return }
        property.access(on: model)
        let isWritten =
            property.isNested
            ? model.isWritten(
                property, child: property.form.model?(value), collection: property.form.collection?(value))
            : model.isWritten(property, child: nil, collection: nil)
        guard isWritten else { return }
        guard let name = property.writtenName(in: model) else {
            writing?.needsTree = true
            return
        }
        output.beginMember(name)
        property.codec.write(value, self)
    }

    /// Writes a collection as its ``ModelCollection/json``.
    func write(_ collection: CollectionCore) {
        let array = output.beginArray()
        collection.forEachElement { element in
            output.beginElement()
            switch element {
            case .model(let model): write(model)
            case .rejected(let json): output.write(json)
            }
        }
        output.endArray(array)
    }
}

extension AnyProperty {
    /// Returns the name to write, as ``writeKey(in:)`` does; `nil` if only the tree of the JSON has its place.
    fileprivate func writtenName(in model: Model) -> JSONName? {
        guard writtenNames.count > 1 else { return writtenNames.first }
        let key = writeKey(in: model.tracking.source)
        return keys.firstIndex(of: key).map { writtenNames[$0] }
    }
}

// MARK: Values

extension PropertyVisitor {
    /// Returns the function that writes values of a type; `nil` for a type that only makes a `JSONValue`.
    @usableFromInline
    static func writer<Value>(of type: Value.Type) -> (@Sendable (Value, PropertyVisitor) -> Void)? {
        func erased<Writable: TextWritable>(_ type: Writable.Type) -> Any {
            let write: @Sendable (Writable, PropertyVisitor) -> Void = { $0.write(to: &$1.output) }
            return write
        }
        // Usual, and specialized.
        let strings: @Sendable (String, PropertyVisitor) -> Void = { $1.output.write($0) }
        let integers: @Sendable (Int, PropertyVisitor) -> Void = { $1.output.write(Int64($0)) }
        let write: Any? =
            switch type {
            case is String.Type: strings
            case is Int.Type: integers
            default: (type as? any TextWritable.Type).map { erased($0) }
            }
        return write as? @Sendable (Value, PropertyVisitor) -> Void
    }

    /// Writes an array.
    func write<Element>(_ elements: [Element], writing write: (Element, PropertyVisitor) -> Void) {
        let array = output.beginArray()
        for element in elements {
            output.beginElement()
            write(element, self)
        }
        output.endArray(array)
    }

    /// Writes a dictionary.
    func write<Value>(_ members: [String: Value], writing write: (Value, PropertyVisitor) -> Void) {
        let object = output.beginObject()
        for (name, value) in members {
            output.beginMember(name)
            write(value, self)
        }
        output.endObject(object)
    }
}
