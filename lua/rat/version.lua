--- The version of the plugin, which the binary has to share; nothing else.
return "0.1.0"
