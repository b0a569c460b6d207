public import DiamondModel

/// A part of a table: the sections of a collection, the fields of one object, or constant rows.
///
/// Several ``TableSource``s can use one part.
public struct TablePart {
    let makeContent: () -> any PartContent

    /// Returns the sections of a collection, or one section if it has no `sectionRule`.
    ///
    /// - Parameters:
    ///   - collection: The collection. The table shows its changes.
    ///   - header: The title, if there is one section.
    ///   - footer: The footer, if there is one section.
    ///   - editing: The allowed edits; `nil` for none.
    public static func collection<Object: Model>(
        _ collection: ModelCollection<Object>, header: String? = nil, footer: String? = nil,
        editing: RowEditing<Object>? = nil
    ) -> TablePart {
        TablePart { CollectionContent(collection, header: header, footer: footer, editing: editing) }
    }

    /// Returns one section with the fields of an object. Their values can be of different types.
    ///
    /// After each change of the object, the rows are made again and compared. A changed value updates its row. A
    /// changed element of an array is an insertion and a deletion.
    public static func fields<Object: Model>(
        of object: Object, header: String? = nil, footer: String? = nil, _ fields: [TableField<Object>]
    ) -> TablePart {
        TablePart {
            ListContent(
                header: header, footer: footer,
                observe: { changed in object.observe { _ in changed() } },
                make: { rows in
                    for (number, field) in fields.enumerated() { field.append(object, number, &rows) }
                })
        }
    }

    /// Returns one section of constant objects. A row with a model is updated when the model changes.
    public static func rows(_ objects: [Any], header: String? = nil, footer: String? = nil) -> TablePart {
        TablePart {
            ListContent(header: header, footer: footer) { rows in
                for (number, object) in objects.enumerated() { rows.append(id: number, static: object) }
            }
        }
    }
}

@available(*, unavailable)
extension TablePart: Sendable {}

extension ListRows {
    fileprivate mutating func append(id: Int, static object: Any) {
        if let model = object as? Model { return append(id: id, model) }
        append(id: id, object) { other in
            if type(of: object) is AnyClass, type(of: other) is AnyClass {
                return object as AnyObject === other as AnyObject
            }
            guard let object = object as? AnyHashable, let other = other as? AnyHashable else { return false }
            return object == other
        }
    }
}
