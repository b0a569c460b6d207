public import DiamondModel

/// The rows of a table for a property of a model.
///
/// A row is identified by its field, and by its element if the field has several. A changed value updates its row.
public struct TableField<Object: Model> {
    /// Appends the rows. Their ids start with the field's number.
    let append: (Object, Int, inout ListRows) -> Void

    private init(_ append: @escaping (Object, Int, inout ListRows) -> Void) { self.append = append }

    /// Returns a field with one row for a value.
    public static func value<Value: Equatable>(_ value: @escaping (Object) -> Value) -> TableField {
        TableField { object, number, rows in
            let value = value(object)
            rows.append(id: number, value) { $0 as? Value == value }
        }
    }

    /// Returns a field with one row for a value, or without rows while the value is `nil`.
    public static func value<Value: Equatable>(_ value: @escaping (Object) -> Value?) -> TableField {
        TableField { object, number, rows in
            guard let value = value(object) else { return }
            rows.append(id: number, value) { $0 as? Value == value }
        }
    }

    /// Returns a field with a row for each element of an array, identified by the element.
    public static func values<Value: Hashable>(_ values: @escaping (Object) -> [Value]) -> TableField {
        self.values(values) { $0 }
    }

    /// Returns a field with a row for each element of an array, identified by an id of the element.
    public static func values<Value: Equatable, ID: Hashable>(
        _ values: @escaping (Object) -> [Value], id: @escaping (Value) -> ID
    ) -> TableField {
        TableField { object, number, rows in
            for value in values(object) {
                rows.append(id: [number, id(value)] as [AnyHashable], value) { $0 as? Value == value }
            }
        }
    }

    /// Returns a field with one row for a nested model.
    public static func model<Nested: Model>(_ model: @escaping (Object) -> Nested) -> TableField {
        TableField { object, number, rows in rows.append(id: number, model(object)) }
    }

    /// Returns a field with a row for each visible model of a nested collection.
    public static func models<Nested: Model>(
        _ collection: @escaping (Object) -> ModelCollection<Nested>
    ) -> TableField {
        TableField { object, number, rows in
            let collection = collection(object)
            rows.observe(collection)
            for model in collection {
                rows.append(id: [number, ObjectIdentifier(model)] as [AnyHashable], model)
            }
        }
    }
}

@available(*, unavailable)
extension TableField: Sendable {}
