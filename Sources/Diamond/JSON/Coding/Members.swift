/// The members of an object for a keyed container. The first member of a name counts.
struct Members {
    /// The greatest number of members that are searched one after the other.
    private static let fewMembers = 40

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
        table = isSearched ? nil : try MemberTable(of: object, in: decoder.text, at: place)
    }

    /// The names after conversion.
    func names() -> Dictionary<String, JSONElement>.Keys {
        ((table ?? (try? MemberTable(of: object, in: decoder.text, at: place)))?.elements ?? [:]).keys
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
        return (try? MemberTable(of: object, in: decoder.text, at: place))?.elements[name]
    }
}

/// The members of an object by name: of an object with many members, with converted names, or with names that are not
/// plain ASCII. Names that are canonically equivalent are the same.
final class MemberTable {
    private(set) var elements: [String: JSONElement] = [:]

    init(of object: JSONElement, in text: TapedText, at place: CodingPlace?) throws {
        elements.reserveCapacity(object.count)
        var members = object.members
        while let (name, value) = members.next() {
            guard !name.hasLoneSurrogate else { throw text.undecided() }
            Self.keep(value, in: &elements[text.convertedName(name.string(), at: place)])
        }
    }

    /// Sets the first member of a name. The name is hashed once.
    private static func keep(_ element: JSONElement, in place: inout JSONElement?) {
        if place == nil { place = element }
    }
}

extension JSONElement {
    fileprivate var hasPlainNames: Bool {
        var members = members
        while let (name, _) = members.next() { if !name.isASCII { return false } }
        return true
    }
}
