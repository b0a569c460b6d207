import Diamond

/// An object that loads the models of a table.
public protocol TableLoading: AnyObject {
    /// Whether something was loaded once.
    var isLoaded: Bool { get }
    /// Whether a load is under way, of the first page or all.
    var isLoading: Bool { get }
    /// Whether a further page is on its way.
    var isLoadingMore: Bool { get }
    /// Whether there are further pages.
    var hasMore: Bool { get }
    /// The error of the last load; `nil` when it succeeded.
    var error: (any Error)? { get }
    /// Whether the error means that the server cannot be reached. By default a `ConnectionError` with the code `cannotConnect`
    /// does.
    var isOffline: Bool { get }

    /// Calls `receive` after every change of these properties, until the token is dropped.
    func observe(_ receive: @escaping () -> Void) -> ObserverToken

    /// Loads the first page or all again; as after a pull.
    func refresh() async
    /// Loads the next page.
    func loadMore() async
    /// Repeats the load that has failed.
    func retry() async
}

extension TableLoading {
    public var isOffline: Bool { (error as? ConnectionError)?.code == .cannotConnect }
}
