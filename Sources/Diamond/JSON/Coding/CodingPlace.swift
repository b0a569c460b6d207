/// The place of a value in a document: the keys that lead to it, each linked to the one before. The path is built only
/// when it is asked for.
final class CodingPlace {
    private let key: any CodingKey
    private let parent: CodingPlace?

    init(_ key: any CodingKey, in parent: CodingPlace?) {
        self.key = key
        self.parent = parent
    }

    convenience init(index: Int, in parent: CodingPlace?) { self.init(PlaceKey(intValue: index), in: parent) }

    var path: [any CodingKey] {
        var keys: [any CodingKey] = []
        var place: CodingPlace? = self
        while let current = place {
            keys.append(current.key)
            place = current.parent
        }
        return keys.reversed()
    }
}

/// A key that no type declares: of an element, or of a name as the text has it. The texts are those of `JSONDecoder`.
struct PlaceKey: CodingKey {
    static let superclass = PlaceKey(stringValue: "super")

    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }
}
