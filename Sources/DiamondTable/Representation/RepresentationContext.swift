/// The place in an app where a model is shown, such as a list. Apps can add their own.
///
/// ```swift
/// extension RepresentationContext { static let map = RepresentationContext("map") }
/// ```
public struct RepresentationContext: Hashable, Sendable {
    let name: String

    public init(_ name: String) { self.name = name }

    /// A row of a list.
    public static let list = RepresentationContext("list")
    /// A detail page.
    public static let detail = RepresentationContext("detail")
}

/// A type without a representation in a ``RepresentationRegistry``.
public struct UnknownRepresentation: Error, Hashable, Sendable, CustomStringConvertible {
    let typeName: String
    public let context: RepresentationContext

    public var description: String {
        "\(typeName) has no representation for \(context.name): register one for it, a superclass or a protocol"
    }
}

/// A model or value that represents itself, by an extension in the target of the views.
///
/// ```swift
/// extension City: Representable {
///     func representation(in context: RepresentationContext, state: RowState) -> String? { name }
/// }
/// ```
public protocol Representable<Representation> {
    /// The type of the representation, such as a cell, a text or a description of a cell.
    associatedtype Representation

    /// Returns the representation, or `nil` if there is none in the context.
    func representation(in context: RepresentationContext, state: RowState) -> Representation?
}
