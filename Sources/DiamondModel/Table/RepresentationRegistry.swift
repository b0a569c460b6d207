/// The representations of models and values by their types, without a chain of `if`.
///
/// An object is represented by what is registered for its own class, or else for its nearest superclass; or by itself where
/// it is ``Representable``; or by what was registered first for a protocol that it conforms to; or else by the fallback.
///
/// A lookup takes constant time after the first of its type.
public final class RepresentationRegistry<Representation> {
    private typealias Maker = (Any, RowState) -> Representation?

    private var makers: [RepresentationContext: TypeMap<Maker>] = [:]
    private let fallback: (Any) -> Representation
    private let report: (UnknownRepresentation) -> Void
    private var reported: Set<UnknownRepresentation> = []

    /// Creates a registry.
    ///
    /// - Parameters:
    ///   - fallback: makes the representation of an object of an unknown type, which should be seen to be one.
    ///   - onUnknown: is told of each unknown type once a context.
    public init(
        fallback: @escaping (Any) -> Representation, onUnknown: @escaping (UnknownRepresentation) -> Void = { _ in }
    ) {
        self.fallback = fallback
        report = onUnknown
    }

    /// Registers the representation of a class, a protocol (`(any Named).self`) or another type. A second one for the same
    /// type and context takes the place of the first.
    public func register<Object>(
        _ type: Object.Type, in context: RepresentationContext = .list,
        _ make: @escaping (Object, RowState) -> Representation
    ) {
        let map = makers[context] ?? TypeMap()
        makers[context] = map
        map.set(for: type) { object, state in (object as? Object).map { make($0, state) } }
    }

    /// Returns the representation of an object; the fallback for one of an unknown type.
    public func representation(
        of object: Any, in context: RepresentationContext = .list, state: RowState = []
    ) -> Representation {
        let map = makers[context]
        return map?.valueForClass(of: object)?(object, state)
            ?? (object as? any Representable<Representation>)?.representation(in: context, state: state)
            ?? map?.valueForProtocol(of: object)?(object, state) ?? unknown(object, context)
    }

    private func unknown(_ object: Any, _ context: RepresentationContext) -> Representation {
        let error = UnknownRepresentation(typeName: String(describing: type(of: object)), context: context)
        if reported.insert(error).inserted { report(error) }
        return fallback(object)
    }
}

@available(*, unavailable)
extension RepresentationRegistry: Sendable {}
