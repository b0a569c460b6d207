/// The parameters of a request: typed values under names, in order, names repeatable.
///
/// ```swift
/// var parameters: Parameters = ["country": "DE", "page": 1]
/// parameters["page"] = 2          // replaces, in place
/// parameters["draft"] = nil       // removes
/// parameters.append("tag", "new") // keeps what has the name already
/// ```
///
/// Literals stand as they are; a variable is wrapped: `["country": JSONValue(country), "page": JSONValue(page)]`.
///
/// Order and repetition are part of the value: `==` compares them. Only the order of values under one name is part of
/// the *identity*. `nil` is absent, `.null` is a name without a value (`?flag`), and `""` is an empty value (`?q=`):
/// three different things.
public struct Parameters: Hashable, Sendable {
    /// A name and its value.
    public struct Element: Hashable, Sendable {
        /// The name before it is encoded; case counts.
        public var name: String
        /// The value sent under the name.
        public var value: JSONValue

        /// Creates an element. A number without a fraction becomes an integer, which it equals.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value.normalized
        }

        /// Names compare by their bytes.
        public static func == (one: Element, other: Element) -> Bool {
            one.name.isExactly(other.name) && one.value == other.value
        }
    }

    private(set) var elements: [Element] = []

    /// Creates an empty list of parameters.
    public init() {}

    /// Creates parameters from all elements, in their order, repeated names included.
    public init(_ elements: some Sequence<Element>) { self.elements = Array(elements) }

    /// The first value under `name`. Setting a value puts it in the place of the first, or at the end, and removes the
    /// others. Setting `nil` removes them all. O(n).
    public subscript(name: String) -> JSONValue? {
        get { elements.first { $0.name.isExactly(name) }?.value }
        set {
            let place = elements.firstIndex { $0.name.isExactly(name) } ?? elements.endIndex
            elements.removeAll { $0.name.isExactly(name) }
            guard let newValue else { return }
            elements.insert(Element(name, newValue), at: Swift.min(place, elements.endIndex))
        }
    }

    /// Returns every value under `name`, in order.
    public func values(_ name: String) -> [JSONValue] { elements.filter { $0.name.isExactly(name) }.map(\.value) }

    /// Appends a value, and keeps the values that the name has already.
    public mutating func append(_ name: String, _ value: JSONValue) { elements.append(Element(name, value)) }
}

extension Parameters: RandomAccessCollection {
    public var startIndex: Int { elements.startIndex }
    public var endIndex: Int { elements.endIndex }
    public subscript(position: Int) -> Element { elements[position] }
}

extension Parameters: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Element($0.0, $0.1) })
    }
}

// Values may be secret: a token, a password.
extension Parameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names in order, without their values.
    public var description: String { map(\.name).joined(separator: ", ") }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["names": map(\.name)]) }
}

extension Parameters.Element: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, without the value.
    public var description: String { name }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
