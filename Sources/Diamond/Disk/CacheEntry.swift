import Foundation

/// A response with the identity it is stored under.
package struct CacheEntry: Sendable {
    package var key: RequestKey
    /// The canonical form.
    package var request: [UInt8]
    /// In normal form, secrets masked, without parameters that the engine ignores.
    package var url: String
    /// Whether its key leaves out something of the URL: what changes another URL of the same path changes it, too.
    package var isFoundByOthers: Bool
    package var method: String
    /// On whose behalf it was asked for; `nil` where nobody's in particular.
    package var identity: String?
    package var stored: StoredResponse
    /// The app's names for it, to invalidate it by.
    package var tags: Set<String>

    package init(
        key: RequestKey,
        request: [UInt8],
        url: String,
        isFoundByOthers: Bool = false,
        method: String,
        identity: String? = nil,
        stored: StoredResponse,
        tags: Set<String> = []
    ) {
        self.key = key
        self.request = request
        self.url = url
        self.isFoundByOthers = isFoundByOthers
        self.method = method
        self.identity = identity
        self.stored = stored
        self.tags = tags
    }
}
