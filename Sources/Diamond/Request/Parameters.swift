public import Foundation

/// The parameters of a request: an ordered list of names with typed values. Names may repeat.
///
/// ```swift
/// var parameters: Parameters = ["country": country, "minPopulation": minimum, "page": 1]  // leaves out what is nil
/// parameters["page"] = 2          // replaces, in place
/// parameters["country"] = country // a variable, or an optional: nil removes
/// parameters["draft"] = nil       // removes
/// parameters.append("tag", "new") // keeps existing values of the name
/// ```
///
/// A value is a literal or a variable of a ``ParameterConvertible`` type, or an optional of one.
/// ``init(encoding:using:)`` makes parameters of the properties of an `Encodable` value.
///
/// `==` compares order and repetition. The request's key depends only on the order of values with the same name. `nil`
/// (absent), `JSONValue.null` (a name without a value, `?flag`) and `""` (an empty value, `?q=`) are three different
/// things.
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

    /// Sets the value of `name` to a variable, as the subscript of ``JSONValue`` does. `nil` removes all values. Only
    /// the setter can be used, because a value is read as a ``JSONValue``.
    @_disfavoredOverload
    public subscript<Value: ParameterConvertible>(name: String) -> Value? {
        @available(*, unavailable, message: "a value is read as a JSONValue: leave the type out")
        get { nil }
        set { self[name] = newValue?.parameterValue }
    }

    /// Returns all values of `name`, in order.
    public func values(for name: String) -> [JSONValue] { elements.filter { $0.name.isExactly(name) }.map(\.value) }

    /// Appends a value and keeps existing values of the name. `nil` appends nothing.
    public mutating func append(_ name: String, _ value: (any ParameterConvertible)?) {
        if let value { elements.append(Element(name, value.parameterValue)) }
    }
}

extension Parameters: RandomAccessCollection {
    public var startIndex: Int { elements.startIndex }
    public var endIndex: Int { elements.endIndex }
    public subscript(position: Int) -> Element { elements[position] }
}

extension Parameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters in the order of the literal, without the names whose value is `nil`.
    public init(dictionaryLiteral elements: (String, (any ParameterConvertible)?)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension Parameters {
    /// Creates parameters from the properties of a value, sorted by name. Properties that are `nil` are left out.
    ///
    /// - Parameters:
    ///   - value: a value that is encoded as an object, such as a structure or a dictionary.
    ///   - encoder: the encoder, which determines the names and the form of dates.
    /// - Throws: ``RequestError/Code-swift.struct/malformedParameter`` if the value is not encoded as an object, or
    ///   cannot be encoded.
    public init(encoding value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws(RequestError) {
        let object = try JSONValue(parameters: value, using: encoder)
        guard case .object(let members) = object else {
            let message = "a value of type \(type(of: value)) is encoded as \(object.kind): parameters need an object"
            throw RequestError(.malformedParameter, message)
        }
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        self.init(sorted.map { Element($0.key, $0.value) })
    }
}

extension JSONValue {
    /// Encodes a value for parameters.
    fileprivate init(parameters value: some Encodable, using encoder: JSONEncoder) throws(RequestError) {
        do { try self.init(encoding: value, using: encoder) } catch let error as JSONError {
            throw RequestError(error)
        } catch {
            let message = "a value of type \(type(of: value)) cannot be encoded as parameters: \(error.place)"
            throw RequestError(.malformedParameter, message)
        }
    }
}

extension Error {
    /// The names of the properties that lead to the mistake, without the value.
    fileprivate var place: String {
        guard case .invalidValue(_, let context)? = self as? EncodingError else { return "\(Self.self)" }
        return context.codingPath.map(\.stringValue).joined(separator: ".") + " has no form in JSON"
    }
}

// Values may be secret: a token, a password.
extension Parameters: Redacted {
    /// The names in order, without their values.
    public var description: String { map(\.name).joined(separator: ", ") }
    var shownMembers: KeyValuePairs<String, Any> { ["names": map(\.name)] }
}

extension Parameters.Element: Redacted {
    /// The name, without the value.
    public var description: String { name }
}
