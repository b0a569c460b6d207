/// The members of an object for a keyed container. The first member of a name counts.
struct Members {
    /// The greatest number of members that are searched one after the other.
    private static let fewMembers = 16

    let decoder: TapeDecoder
    let place: CodingPlace?
    private let object: JSONElement
    private let table: MemberTable?

    init(of object: JSONElement, decoder: TapeDecoder, place: CodingPlace?) throws {
        self.decoder = decoder
        self.place = place
        self.object = object
        let isSearched =
            object.count <= Self.fewMembers && !decoder.text.settings.convertsKeys && object.hasPlainNames
        table = isSearched ? nil : try MemberTable(object, decoder.text, at: place)
    }

    /// The names after conversion, in the order of the text.
    func names() -> [String] {
        (table ?? (try? MemberTable(object, decoder.text, at: place)))?.names ?? []
    }

    subscript(name: String) -> JSONElement? {
        if let table { return table.elements[name] }
        var name = name
        return name.withUTF8 { bytes in
            var members = object.members
            while let (name, value) = members.next() { if name.isName(UnsafeRawBufferPointer(bytes)) { return value } }
            return nil
        } ?? unplain(name)
    }

    /// Returns the member of a name that is not ASCII: Unicode has characters that equal an ASCII character.
    private func unplain(_ name: String) -> JSONElement? {
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return (try? MemberTable(object, decoder.text, at: place))?.elements[name]
    }
}

/// The members of an object by name: of an object with many members, with converted names, or with names that are not
/// plain ASCII. Names that are canonically equivalent are the same.
final class MemberTable {
    private(set) var names: [String] = []
    private(set) var elements: [String: JSONElement] = [:]

    init(_ object: JSONElement, _ text: TapedText, at place: CodingPlace?) throws {
        names.reserveCapacity(object.count)
        elements.reserveCapacity(object.count)
        var members = object.members
        while let (name, value) = members.next() {
            guard !name.hasLoneSurrogate else { throw text.undecided() }
            let key = text.convertedName(name.string(), at: place)
            if elements[key] == nil {
                names.append(key)
                elements[key] = value
            }
        }
    }
}

extension JSONElement {
    fileprivate var hasPlainNames: Bool {
        var members = members
        while let (name, _) = members.next() { if !name.isASCII { return false } }
        return true
    }

    /// Whether a name is written as it is, in ASCII.
    private var isASCII: Bool { isPlain && text.allSatisfy { $0 < 0x80 } }
}
