import Foundation

/// A response with the identity it is stored under.
package struct CacheEntry: Sendable {
    package var key: RequestKey
    /// The canonical form.
    package var request: [UInt8]
    /// The URL in normal form, with secrets masked, without the parameters that the engine ignores.
    package var url: String
    /// Whether its key leaves out a part of the URL. A change of another URL of the same path then changes this entry,
    /// too.
    package var isFoundByOthers = false
    package var method: String
    /// The identity that it was requested for; `nil` for none.
    package var identity: String?
    package var stored: StoredResponse
    /// The app's tags, for invalidation.
    package var tags: Tags
    /// The key of the request, if the entry is one of several variants, which have keys of their own.
    package var requestKey: RequestKey?
    /// The names of the groups that its server has put it in (``CacheGroups``).
    var groups: Tags = []
    /// The position of the newest change of the store that this process knew when the request was sent; `nil` if no
    /// later change of another process makes the response stale.
    package var knownChange: ChangePosition?

    package init(
        key: RequestKey,
        request: [UInt8],
        url: String,
        method: String,
        identity: String? = nil,
        stored: StoredResponse,
        tags: Tags = []
    ) {
        self.key = key
        self.request = request
        self.url = url
        self.method = method
        self.identity = identity
        self.stored = stored
        self.tags = tags
    }
}
