import HTTPTypes

// Headers, URLs and what an app has put in may hold secrets.
extension Engine.Configuration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The store and the base URL, without what may be secret.
    public var description: String {
        let place = baseURL.map { ", base URL \(RequestURL.masked(Array($0.utf8)))" } ?? ""
        return (store.map { "store \($0)" } ?? "no store") + place
    }

    public var debugDescription: String { description }

    /// Names, without the values that may be secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["configuration": description, "headers": headers.map(\.name.rawName)] as KeyValuePairs)
    }
}
