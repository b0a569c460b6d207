import Foundation

/// A response with the identity it is stored under.
package struct CacheEntry: Sendable {
    package var key: RequestKey
    /// The canonical form.
    package var request: [UInt8]
    /// For people: secrets masked.
    package var url: String
    package var method: String
    package var stored: StoredResponse

    package init(key: RequestKey, request: [UInt8], url: String, method: String, stored: StoredResponse) {
        self.key = key
        self.request = request
        self.url = url
        self.method = method
        self.stored = stored
    }
}
