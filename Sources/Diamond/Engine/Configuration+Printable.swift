import HTTPTypes

// Headers, URLs and what an app has put in may hold secrets.
extension Engine.Configuration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The store, the name of the key that seals it, and the base URL, without what may be secret.
    public var description: String {
        let place = baseURL.map { ", base URL \(RequestURL.masked(Array($0.utf8)))" } ?? ""
        let key = seal.map { ", sealed with the key '\($0.keyID)'" } ?? ""
        return (store.map { "store \($0)" } ?? "no store") + key + place
    }

    public var debugDescription: String { description }

    /// Names, without the values that may be secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["configuration": description, "headers": headers.map(\.name.rawName)] as KeyValuePairs)
    }
}
