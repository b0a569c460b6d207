public import Diamond
public import Observation

/// An object that holds JSON in typed properties, each with a default, and notices every change.
///
/// A model is not Sendable: it stays in the isolation domain that made it, the main actor's or another's. Pass its
/// ``json`` or its ``modelID`` between domains.
///
/// A subclass declares each property three times: a ``Property`` constant, storage with the default, and an accessor. It
/// lists them in ``visit(_:)``.
open class Model: Observable {
    @usableFromInline let registrar = ObservationRegistrar()
    @usableFromInline final var tracking = Tracking()

    /// Creates a new object, whose properties have their defaults.
    public required init() {}

    /// Creates an object outside every context.
    public required convenience init(from decoder: any Decoder) throws {
        self.init()
        try start(with: decoder.singleValueContainer().decode(JSONValue.self))
    }

    deinit { tracking.context?.forget(tracking.ids, of: type(of: self), being: ObjectIdentifier(self)) }

    /// Shows every property to a visitor. An override calls `super` first, then has a line for each of its properties.
    open func visit(_ visitor: PropertyVisitor) {}

    /// The name of the JSON member with the id. Override it in the class that declares the id's property, or above it.
    open class var idKey: String { "id" }

    /// Returns the class for an object: a class cluster looks into its JSON and names a subclass.
    open class func concreteClass(for object: [String: JSONValue]) -> Model.Type { self }

    /// The class whose objects this class shares its ids with. A class cluster names its base class.
    open class var identityClass: Model.Type { self }

    /// The number of levels of nested models whose changes the model tells as its own, with their path.
    open class var observedDepth: Int { 1 }

    /// The request of the list of these objects, such as `Request("cities")`, without a page's parameters; `nil`, the
    /// default, uses that of a collection that holds the object.
    open class var resource: Request? { nil }

    /// Returns the request of a call.
    ///
    /// The default is POST to the list for a new object, and GET, PATCH, PUT and DELETE of the list's URL with the id as its
    /// last segment, with headers and policies of ``resource``.
    ///
    /// - Parameters:
    ///   - call: the call.
    ///   - body: the JSON to send; `nil` for a call that sends none.
    /// - Throws: ``ModelError`` `noResource` where there is no URL.
    open func request(for call: ModelCall, body: JSONValue?) throws -> Request {
        try standardRequest(for: call, body: body)
    }

    /// Returns the object in a response to a call; `nil` where it holds none. The default is the whole body.
    ///
    /// - Throws: an error for a body that cannot be read. The call has failed then.
    open class func object(in response: Response) throws -> JSONValue? { try response.bodyAsJSON() }

    /// Returns the object in a request that ``request(for:body:)`` has made; `nil` where it holds none. The default is the
    /// whole body. Override it where the request wraps the object: what waits in the queue is read back by it.
    open class func object(in request: Request) throws -> JSONValue? { request.body?.jsonValue }

    /// The name of the class in the queue, where calls of its objects wait: by default that of ``identityClass``, with its
    /// module. Override it with the old name where the class is renamed while calls may wait.
    open class var queueName: String {
        // What stands there for a private class is another in each build.
        String(reflecting: identityClass).replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }
}

// MARK: Identity

extension Model {
    /// The server's id; or the local id of an object that has none yet.
    public final var modelID: ModelID { tracking.serverID ?? localID }

    /// The id that the server gave; `nil` before it has.
    public final var serverID: ModelID? { tracking.serverID }

    /// The id that the object has on this device, before and after the server gives one.
    public final var localID: ModelID {
        if let id = tracking.localID { return id }
        let id = ModelID.makeLocal()
        tracking.localID = id
        return id
    }

    /// Whether the server has given no id yet.
    public final var isNew: Bool { tracking.serverID == nil }

    /// The context that keeps one live instance of this object; `nil` for a copy.
    public final var context: ModelContext? { tracking.context }

    /// Removes the model from every collection that holds it.
    public final func leaveCollections() {
        for link in links { link.leave() }
    }

    var links: [OwnerLink] { tracking.links.map { $0.takeUnretainedValue() } }
}

extension Model: Identifiable {}
