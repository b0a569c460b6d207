import HTTPTypes

// Not the synthesized text: headers, URLs and other values of the app may hold secrets.
extension Engine.Configuration: Redacted {
    /// The store, the servers, the name of the key that seals it, and the base URL, without possible secrets.
    public var description: String {
        let place = baseURL.map { ", base URL \(RequestURL.masked(Array($0.utf8)))" } ?? ""
        let key = seal.map { ", sealed with the key '\($0.keyID)'" } ?? ""
        let servers = (queue.name.map { ", queue \($0)" } ?? "") + (cache.name.map { ", cache \($0)" } ?? "")
        return (store.map { "store \($0)" } ?? "no store") + servers + key + place
    }

    /// The description and the names of the headers, without values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        ["configuration": description, "headers": headers.map(\.name.rawName)]
    }
}
