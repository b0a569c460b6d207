/// The parameters of a request: an ordered list of names with typed values. Names may repeat.
///
/// ```swift
/// var parameters: Parameters = ["country": "DE", "page": 1]
/// parameters["page"] = 2          // replaces, in place
/// parameters["draft"] = nil       // removes
/// parameters.append("tag", "new") // keeps existing values of the name
/// ```
///
/// Literals need no conversion; variables are wrapped: `["country": JSONValue(country), "page": JSONValue(page)]`.
///
/// `==` compares order and repetition. The request's key depends only on the order of values with the same name. `nil`
/// (absent), `.null` (a name without a value, `?flag`) and `""` (an empty value, `?q=`) are three different things.
public struct Parameters: Hashable, Sendable {
    /// A name and its value.
    public struct Element: Hashable, Sendable {
        /// The unencoded name; case matters.
        public var name: String
        /// The value of the parameter.
        public var value: JSONValue

        /// Creates an element. A number without a fraction becomes the equal integer.
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

    /// Creates parameters from all elements, in order, repeated names included.
    public init(_ elements: some Sequence<Element>) { self.elements = Array(elements) }

    /// The first value of `name`. Setting a value replaces the first, or appends it, and removes the others. Setting
    /// `nil` removes all. O(n).
    public subscript(name: String) -> JSONValue? {
        get { elements.first { $0.name.isExactly(name) }?.value }
        set {
            let place = elements.firstIndex { $0.name.isExactly(name) } ?? elements.endIndex
            elements.removeAll { $0.name.isExactly(name) }
            guard let newValue else { return }
            elements.insert(Element(name, newValue), at: Swift.min(place, elements.endIndex))
        }
    }

    /// Returns all values of `name`, in order.
    public func values(for name: String) -> [JSONValue] { elements.filter { $0.name.isExactly(name) }.map(\.value) }

    /// Appends a value and keeps existing values of the name.
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
