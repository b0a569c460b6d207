public import Diamond

/// A request for a page.
public struct PageQuery: Hashable, Sendable {
    /// The position of the page.
    public let position: PagePosition
    /// The use of the cache; `nil` leaves it to the source.
    public let policy: CachePolicy?
    /// The id of the first existing item, if newer items are requested.
    public let newerThan: JSONValue?
    /// The server's ids of objects in the URL of the list, by local id.
    var serverIDs: [String: JSONValue] = [:]
    /// The id of the last newer item received so far.
    public internal(set) var newerBefore: JSONValue?
}

/// The source of a collection's pages: requests to an API, a database, a computation.
///
/// ```swift
/// cities.source = PageSource(engine, Request("cities"), paging: .page(size: 50), format: PageFormat(items: "items"))
/// ```
public struct PageSource: Sendable {
    /// The paging scheme.
    let paging: Paging
    /// The request of the list; `nil` for a source without requests.
    let request: Request?
    let engine: Engine?
    private let load: @concurrent @Sendable (PageQuery) async throws -> Page

    /// Creates a source that sends requests.
    ///
    /// - Parameters:
    ///   - engine: Sends the requests.
    ///   - request: The request of the list. The paging scheme adds the parameters of a page. Calls of its objects use
    ///     its URL, too.
    ///   - paging: The paging scheme; one page by default.
    ///   - format: The places of items, total and next page in a response.
    ///   - prepare: Changes the request of a page before it is sent.
    ///   - page: Reads a response instead of the format. Runs outside the collection's isolation domain.
    public init(
        _ engine: Engine, _ request: Request, paging: Paging = .whole, format: PageFormat = PageFormat(),
        prepare: @escaping @Sendable (inout Request, PageQuery) -> Void = { _, _ in },
        page: (@Sendable (Response) throws -> Page)? = nil
    ) {
        self.engine = engine
        self.request = request
        self.paging = paging
        let list = request
        load = { query in
            guard var request = try Self.request(for: query, base: request, paging: paging) else {
                return Page(items: [], isLast: true)
            }
            if let policy = query.policy { request.cache = policy }
            prepare(&request, query)
            request = request.replacing(query.serverIDs)
            if let name = request.localIDs.min() { throw ModelError.unsaved(name) }
            let url = try engine.url(of: request)
            if case .url(let position) = query.position, query.newerThan == nil {
                // The URL may come from an archive, and would receive the request's headers.
                try paging.checkOrigin(of: position, list: engine.url(of: list))
            }
            var result = try await engine.output(of: request) { response in
                try page?(response) ?? format.page(of: response, isolatesFaults: true)
            }
            if result.url.isEmpty { result.url = url }
            result.sent = Page.SentRequest(request, url: url)
            return result
        }
    }

    /// Creates a source with a closure, such as a database.
    ///
    /// - Parameters:
    ///   - paging: The paging scheme; one page by default.
    ///   - load: Returns the page for a query. Runs outside the collection's isolation domain.
    public init(paging: Paging = .whole, _ load: @escaping @concurrent @Sendable (PageQuery) async throws -> Page) {
        self.paging = paging
        self.load = load
        request = nil
        engine = nil
    }

    /// Returns the page for a query. Requests newer items repeatedly, because a server may send only some of them at
    /// once.
    func page(_ query: PageQuery) async throws -> Page {
        var page = try await load(query)
        guard query.newerThan != nil, let key = paging.newerKey else { return page }
        page.hasOnlyNewer = true
        var last = page.content.last.flatMap { key.item(in: $0)?.value }
        var rounds = 0
        var query = query
        while let before = last {
            rounds += 1
            query.newerBefore = before
            let next = try await load(query)
            // Some servers support only one of the two bounds.
            let newer = next.content.prefix { key.item(in: $0)?.value != query.newerThan }
            last = newer.count < next.content.count ? nil : newer.last.flatMap { key.item(in: $0)?.value }
            guard last != before, rounds < Self.maximumRounds else { break }
            page.content += newer
        }
        // After the maximum number of requests there may be more items.
        if rounds == Self.maximumRounds { page.isLast = false }
        return page
    }

    private static let maximumRounds = 20

    static func request(for query: PageQuery, base: Request, paging: Paging) throws -> Request? {
        if let first = query.newerThan { return paging.request(base, newerThan: first, before: query.newerBefore) }
        return try paging.request(base, at: query.position)
    }
}
