/// A part of a table: the sections of a collection, the fields of one object, or rows that never change.
///
/// A value that several ``TableSource``s may be made of.
public struct TablePart {
    let makeContent: () -> PartContent

    /// Returns the sections of a collection with their titles, or one section where it has no ``ModelCollection/sectionRule``.
    ///
    /// - Parameters:
    ///   - collection: the collection, which the table follows.
    ///   - header: the title of the one section.
    ///   - footer: the footer of the one section.
    ///   - editing: the edits that are allowed; `nil` for none.
    public static func collection<Object: Model>(
        _ collection: ModelCollection<Object>, header: String? = nil, footer: String? = nil,
        editing: RowEditing<Object>? = nil
    ) -> TablePart {
        TablePart { CollectionContent(collection, header: header, footer: footer, editing: editing) }
    }

    /// Returns one section of rows of unrelated types, which an object has as its fields.
    ///
    /// The rows follow the object: after each of its changes they are made again and compared. A value that differs is an
    /// update of its row, in an array an insertion and a deletion.
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

    /// Returns one section of objects that stay. A row with a model is updated when the model changes.
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
