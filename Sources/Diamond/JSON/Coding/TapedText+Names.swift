import Foundation

extension TapedText {
    /// Returns a member's name as the key strategy converts it.
    func convertedName(_ name: String, at place: CodingPlace?) -> String {
        switch settings.keys {
        case .convertFromSnakeCase: return camelCased(name)
        case .custom(let convert): return convert((place?.path ?? []) + [PlaceKey(stringValue: name)]).stringValue
        default: return name
        }
    }

    private func camelCased(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        if let known = convertedNames[ExactText(name)] { return known }
        let converted = SnakeCase.camelCased(name)
        convertedNames[ExactText(name)] = converted
        return converted
    }
}
