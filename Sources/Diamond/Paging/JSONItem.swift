package import Foundation

/// A scanned text. It keeps the bytes and the tape that its elements point to.
///
/// `@unchecked Sendable`, because nothing changes them.
package final class ScannedText: @unchecked Sendable {
    private let tape: CopiedTape

    init(_ text: Data, ambiguities: JSONTape.Ambiguities) throws(JSONError) {
        tape = try CopiedTape(scanning: text, ambiguities: ambiguities)
    }

    var root: JSONElement { tape.root }
}

/// A JSON value, or an element of a scanned text, which becomes a value when it is needed.
///
/// `@unchecked Sendable`, because an element points to what its text keeps.
package enum JSONItem: @unchecked Sendable {
    case value(JSONValue)
    case element(JSONElement, ScannedText)

    /// Scans a text.
    ///
    /// - Parameter isolatesFaults: Whether an object that two readers could read differently is kept as text, and the
    ///   others are read.
    /// - Throws: An error whose description names the mistake, with line and column.
    package init(reading text: Data, isolatesFaults: Bool = true) throws {
        let text = try ScannedText(text, ambiguities: isolatesFaults ? .isolated : .refused)
        self = .element(text.root, text)
    }

    package var value: JSONValue {
        switch self {
        case .value(let value): value
        case .element(let element, let text): withExtendedLifetime(text) { element.value() }
        }
    }

    package var isNull: Bool {
        switch self {
        case .value(let value): value == .null
        case .element(let element, let text): withExtendedLifetime(text) { element.kind == .null }
        }
    }

    /// The elements of an array; `nil` for other JSON.
    package var elements: [JSONItem]? {
        switch self {
        case .value(.array(let values)): return values.map(JSONItem.value)
        case .element(let element, let text) where element.kind == .array:
            var items: [JSONItem] = []
            items.reserveCapacity(element.count)
            for part in element.elements { items.append(.element(part, text)) }
            return items
        default: return nil
        }
    }

    /// Returns the member of an object; `nil` if there is none.
    package func member(named name: String) -> JSONItem? {
        switch self {
        case .value(.object(let members)): members.value(named: name).map(JSONItem.value)
        case .element(let element, let text):
            withExtendedLifetime(text) { element.member(named: name).map { .element($0, text) } }
        default: nil
        }
    }

    /// The reason why this object is not read; `nil` for other values.
    package var fault: String? {
        switch self {
        case .value(let value): value.fault
        case .element(let element, let text): withExtendedLifetime(text) { element.fault }
        }
    }
}

extension JSONElement {
    /// Returns the value of the first member with a name; `nil` if there is none.
    package func member(named name: String) -> JSONElement? {
        var name = name
        return name.withUTF8 { bytes in
            members.first { $0.name.isName(UnsafeRawBufferPointer(bytes)) }?.value
        }
    }
}

extension JSONItem: Hashable {
    package static func == (left: JSONItem, right: JSONItem) -> Bool { left.value == right.value }
    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension Response {
    /// Returns the body as JSON, read in the charset of `Content-Type`; `nil` for an empty body or a single space.
    ///
    /// - Parameter isolatesFaults: Whether objects that two readers could read differently are kept as text.
    /// - Throws: An error whose description names the mistake, with line and column.
    package func item(isolatesFaults: Bool) throws -> JSONItem? {
        body.isBlank ? nil : try JSONItem(reading: bodyInUTF8, isolatesFaults: isolatesFaults)
    }
}
