extension Engine {
    /// Returns the pages of a list. Each page is requested when the loop reaches it.
    ///
    /// ```swift
    /// for try await page in engine.pages(ListCities(country: "DE"), next: .cursor(\.nextCursor)) {
    ///     show(page.value.items)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - call: the call of the first page. The requests of the other pages differ from it in parameters or URL only.
    ///     Pages are cached like other responses, and their requests are never queued.
    ///   - next: the rule by which the next page is found.
    ///   - position: the position of the first page to request; by default the start. Pass ``TypedPage/next`` of a page
    ///     to continue after it.
    public func pages<Call: Endpoint>(
        _ call: Call,
        next: NextPage<Call.Output>,
        from position: PagePosition = .start
    ) -> Pages<Call> {
        Pages(engine: self, call: call, rule: next, start: position)
    }
}

/// The pages of a list. Made by ``Engine/pages(_:next:from:)``.
///
/// Each iteration starts at the position passed to that method. It ends after the last page, or when the server refers
/// to a page that the iteration has requested already. If a counted page is repeated twice in a row, the server ignores
/// the parameter: the iteration ends, and leaves the second repetition out.
///
/// An iteration throws ``ConnectionError``: the errors of ``Engine/send(_:)->Call.Output``; `badRequest` if the
/// position does not fit the rule or has another origin; `badResponse` if the next page has another origin, which would
/// receive the credentials. A ``PagingError`` is the cause of the last two. After an error, ``Iterator/next()``
/// requests the same page again.
public struct Pages<Call: Endpoint>: AsyncSequence, Sendable {
    let engine: Engine
    let call: Call
    let rule: NextPage<Call.Output>
    let start: PagePosition

    public func makeAsyncIterator() -> Iterator { Iterator(pages: self, position: start) }

    /// An iteration over the pages.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pages: Pages
        /// The position of the next page; `end` after the last one.
        public fileprivate(set) var position: PagePosition
        private var visited: Set<PagePosition> = []
        private var last: TypedResponse<Call.Output>?
        /// The number of times in a row that the last page was repeated.
        private var repetitions = 0

        fileprivate init(pages: Pages, position: PagePosition) {
            self.pages = pages
            self.position = position
        }

        /// Requests the next page; `nil` after the last one.
        public mutating func next() async throws(ConnectionError) -> TypedPage<Call.Output>? {
            guard let page = try await anyNext() else { return nil }
            let isRepeated = pages.rule.paging.isCounted && last.map { page.response.repeats($0) } ?? false
            repetitions = isRepeated ? repetitions + 1 : 0
            // One repetition may be a coincidence, after as many new items as a page has, or of items without ids.
            guard repetitions < 2 else {
                position = .end
                return nil
            }
            last = page.response
            return page
        }

        /// Requests the next page, which may repeat the last one.
        private mutating func anyNext() async throws(ConnectionError) -> TypedPage<Call.Output>? {
            guard var page = try await pages.page(at: position) else { return nil }
            visited.insert(position)
            if visited.contains(page.next) { page.next = .end }
            position = page.next
            return page
        }
    }

    /// Returns the page at a position; `nil` at the end.
    private func page(at position: PagePosition) async throws(ConnectionError) -> TypedPage<Call.Output>? {
        let handler = CallHandler(call, decoder: engine.decoder)
        guard let request = try request(at: position, of: try handler.request) else { return nil }
        let response = try await engine.response(to: request, by: handler)
        do {
            let next = try rule.position(
                after: response, to: request, at: try engine.url(of: request), from: position)
            return TypedPage(response: response, position: position, next: next)
        } catch {
            throw ConnectionError(paging: error, response.response)
        }
    }

    private func request(at position: PagePosition, of list: Request) throws(ConnectionError) -> Request? {
        let url = try engine.url(of: list)
        do throws(PagingError) {
            // The URL, which may have been stored, would receive the request's headers.
            if case .url(let page) = position { try rule.paging.checkOrigin(of: page, list: url) }
            return try rule.paging.request(list, at: position)
        } catch {
            throw ConnectionError(.badRequest, error.message, cause: error)
        }
    }
}

extension TypedResponse {
    /// Whether a page has the body of another, or an equal output.
    fileprivate func repeats(_ other: TypedResponse) -> Bool {
        func isEqual<Output: Equatable>(_ output: Output) -> Bool { output == other.value as? Output }
        return response.body == other.response.body || (value as? any Equatable).map { isEqual($0) } ?? false
    }
}

extension ConnectionError {
    /// Creates the error of a response whose next page cannot be requested.
    fileprivate init(paging error: any Error, _ response: Response) {
        self = error as? ConnectionError ?? ConnectionError(.badResponse, "\(error)".printable, cause: error)
        self.response = self.response ?? response
    }
}
