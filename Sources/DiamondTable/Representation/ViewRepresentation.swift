/// A representation by a reusable view.
public struct ViewRepresentation {
    /// The class of the view.
    public let viewClass: AnyClass
    /// The reuse identifier of views of the class.
    public let reuseIdentifier: String
    private let configureView: (AnyObject) -> Void

    /// Creates a representation by a view of a class.
    public init<View: AnyObject>(_ view: View.Type, configure: @escaping (View) -> Void) {
        viewClass = view
        reuseIdentifier = String(reflecting: view)
        configureView = { view in
            if let view = view as? View { configure(view) }
        }
    }

    /// Configures a view of the class. Does nothing for a view of another class.
    public func configure(_ view: AnyObject) { configureView(view) }
}

@available(*, unavailable)
extension ViewRepresentation: Sendable {}

extension RepresentationRegistry where Representation == ViewRepresentation {
    /// Registers the view for a class, a protocol or another type, and the closure that configures it.
    public func register<Object, View: AnyObject>(
        _ type: Object.Type, as view: View.Type, in context: RepresentationContext = .list,
        configure: @escaping (View, Object, RowState) -> Void
    ) {
        register(type, in: context) { object, state in
            ViewRepresentation(view) { configure($0, object, state) }
        }
    }
}
