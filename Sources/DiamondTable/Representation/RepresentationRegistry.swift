/// The representations of models and values by their types.
///
/// The first that applies is used:
/// 1. the representation registered for the object's class, or for its nearest superclass;
/// 2. the object's own representation, if it is ``Representable``;
/// 3. the first representation registered for a protocol that it conforms to;
/// 4. the fallback.
///
/// Only representations of the same context count. No context falls back to another one.
///
/// A lookup takes constant time after the first one for a type.
public final class RepresentationRegistry<Representation> {
    private typealias Maker = (Any, RowState) -> Representation?

    private var makers: [RepresentationContext: TypeMap<Maker>] = [:]
    private let fallback: (Any) -> Representation
    private let report: (UnknownRepresentation) -> Void
    private var reported: Set<UnknownRepresentation> = []

    /// Creates a registry.
    ///
    /// - Parameters:
    ///   - fallback: Makes the representation of an object of an unknown type. It should be recognizable as such.
    ///   - onUnknown: Called once for each unknown type and context.
    public init(
        fallback: @escaping (Any) -> Representation, onUnknown: @escaping (UnknownRepresentation) -> Void = { _ in }
    ) {
        self.fallback = fallback
        report = onUnknown
    }

    /// Registers the representation of a class, a protocol (`(any Named).self`) or another type. Replaces an earlier
    /// one for the same type and context.
    public func register<Object>(
        _ type: Object.Type, in context: RepresentationContext = .list,
        make: @escaping (Object, RowState) -> Representation
    ) {
        let map = makers[context] ?? TypeMap()
        makers[context] = map
        map.set(for: type) { object, state in (object as? Object).map { make($0, state) } }
    }

    /// Returns the representation of an object, or the fallback for an object of an unknown type.
    public func representation(
        of object: Any, in context: RepresentationContext = .list, state: RowState = []
    ) -> Representation {
        let map = makers[context]
        return map?.valueForClass(of: object)?(object, state)
            ?? (object as? any Representable<Representation>)?.representation(in: context, state: state)
            ?? map?.valueForProtocol(of: object)?(object, state) ?? fallbackForUnknown(object, in: context)
    }

    private func fallbackForUnknown(_ object: Any, in context: RepresentationContext) -> Representation {
        let error = UnknownRepresentation(typeName: String(describing: type(of: object)), context: context)
        if reported.insert(error).inserted { report(error) }
        return fallback(object)
    }
}

@available(*, unavailable)
extension RepresentationRegistry: Sendable {}
