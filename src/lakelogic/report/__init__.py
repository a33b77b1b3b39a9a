"""What a person or a build server looks at after a run."""
